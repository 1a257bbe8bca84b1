-- What the algorithms that count requests in windows have in common; window-level.ts in the limiter.
-- Reply: used, retry_us until the cost would pass, reset_us until nothing counts, reset_after_taking_us until nothing counts after taking.
local function window_answer(limit, used, retry_us, reset_us, reset_after_taking_us)
  local allowed = used + limit.cost_tokens <= limit.capacity_tokens
  answer(used, allowed and 0 or retry_us, used == 0 and 0 or reset_us, reset_after_taking_us)
  return allowed
end

-- Of what a limit holds, a request that has to leave some can take the rest.
local function window_leaving(limit, tokens) return { capacity_tokens = limit.capacity_tokens - tokens } end

-- How many tokens an operator takes of those that are asked for: as many as are left.
local function takable(limit, used) return min(limit.cost_tokens, max(0, limit.capacity_tokens - used)) end

-- Tokens that count as used where so many are missing.
local function used_of(limit, whole, part) return min(limit.capacity_tokens, max(0, whole + (part > 0 and 1 or 0))) end
