-- What the algorithms that count requests in windows have in common; window-decision.ts.
-- Reply: tokens used, microseconds until the cost would pass, until nothing counts, and until nothing counts after taking.
local function window_answer(limit, used, retry, reset, reset_after_taking)
  local allowed = used + limit.cost <= limit.capacity
  answer(used, allowed and 0 or retry, used == 0 and 0 or reset, reset_after_taking)
  return allowed
end

-- How many tokens an operator takes of those that are asked for: as many as are left.
local function takable(limit, used) return min(limit.cost, max(0, limit.capacity - used)) end

-- Tokens that count as used where so many are missing.
local function used_of(limit, whole, part) return min(limit.capacity, max(0, whole + (part > 0 and 1 or 0))) end
