--[[
Continuous refill of a bucket that starts full and needs whole microseconds only; greedy.ts in the limiter does the same.
Take        f64 cost_us, full_us: the time in which the cost comes back, and the time to full from empty
Generation  f64 n, interval_us: n tokens every interval
Refund      back_whole, back_part: when all of it has come back by itself; cost_us, cost_part; n; 1 for a queue
Reply       debt_us
Text        nothing; or .<part>f
]]
-- A state: { whole, part }: the instant at which the bucket will be full, in whole microseconds and n-ths of one; negative for a surplus.
local WITH_PART = '%s.' .. WHOLE .. 'f'
local greedy = {}

function greedy.read(position)
  local cost_us, full_us
  cost_us, full_us, position = unpack_struct('<dd', requests, position)
  return {
    cost_us = cost_us, full_us = full_us, with_parts = false, n = 1, cost_part = 0, full_part = 0, start_whole = 0, start_part = 0,
    surplus_us = 0, started_us = 0, lacks = false, is_full_at_start = true, max_wait_us = math.huge,
  }, position
end

function greedy.started(limit)
  if limit.is_full_at_start then return { whole = 0, part = 0 } end
  local early_us = limit.started_us - now_us
  if early_us <= 0 then return { whole = limit.start_whole, part = limit.start_part } end
  -- Whoever looks before the limit starts finds its start.
  return { whole = limit.start_whole < 0 and limit.start_whole + early_us or limit.start_whole - early_us, part = limit.start_part }
end

function greedy.clamped(limit, state)
  if state.whole < 0 then
    if state.whole + now_us < limit.surplus_us then return { whole = limit.surplus_us - now_us, part = 0 } end
    return state
  end
  local debt_us = state.whole - now_us
  if debt_us > limit.full_us or (debt_us == limit.full_us and state.part > limit.full_part) then return { whole = now_us + limit.full_us, part = limit.full_part } end
  return state
end

function greedy.read_generation(generation, position)
  generation.n, generation.interval_us, position = unpack_struct('<dd', requests, position)
  return position
end

function greedy.parse(whole, rest) return { whole = whole, part = tonumber(rest) or 0 } end

function greedy.text(generation, state)
  local head = with_generation(generation, state.whole)
  if state.part == 0 then return head end
  return format(WITH_PART, head, state.part)
end

-- What is missing at an instant, in time; negative for a surplus.
local function debt_at(state, at_us)
  local debt_us = state.whole < 0 and state.whole + at_us or state.whole - at_us
  if (state.whole < 0) == (debt_us >= 0) then return 0, 0 end
  return debt_us, state.part
end

function greedy.take(limit, state)
  local debt_us, part = debt_at(state, now_us)
  local wait_us = debt_us
  if limit.with_parts then answer(debt_us, part) else answer(debt_us) end
  debt_us, part = debt_us + limit.cost_us, part + limit.cost_part
  if part >= limit.n then debt_us, part = debt_us + 1, part - limit.n end
  local allowed = (debt_us < limit.full_us or (debt_us == limit.full_us and part <= limit.full_part))
  if limit.cost_us == 0 and limit.cost_part == 0 then return allowed end
  return allowed and wait_us <= limit.max_wait_us, { whole = debt_us < 0 and debt_us - now_us or debt_us + now_us, part = part }
end

function greedy.leaving(limit, whole, part)
  local full_us, full_part = limit.full_us - whole, limit.full_part - part
  if full_part < 0 then full_us, full_part = full_us - 1, full_part + limit.n end
  return { full_us = full_us, full_part = full_part }
end

function greedy.occupied(g, state, tokens, at_us)
  local least_us, least_part = debt_of_tokens(tokens, 0, 1, g.n, g.interval_us)
  if g.full_us and (least_us > g.full_us or (least_us == g.full_us and least_part > g.full_part)) then least_us, least_part = g.full_us, g.full_part end
  local debt_us, part = debt_at(state, at_us)
  if debt_us > least_us or (debt_us == least_us and part >= least_part) then return state end
  return { whole = at_us + least_us, part = least_part }
end

greedy.lends_by_time = true

function greedy.costing(limit, tokens)
  local cost_us, cost_part = debt_of_tokens(tokens, 0, 1, limit.n, limit.interval_us)
  return { cost_us = cost_us, cost_part = cost_part }
end

function greedy.full_at(_, state) return state.whole < 0 and -state.whole or state.whole + 1 end

function greedy.full() return { whole = now_us, part = 0 } end

function greedy.adjusted(limit, state, adds)
  local debt_us, part = debt_at(state, now_us)
  if adds then
    if debt_us < 0 then return state end
    debt_us, part = debt_us - limit.cost_us, part - limit.cost_part
    if part < 0 then debt_us, part = debt_us - 1, part + limit.n end
    if debt_us < 0 then debt_us, part = 0, 0 end
  else
    debt_us, part = debt_us + limit.cost_us, part + limit.cost_part
    if part >= limit.n then debt_us, part = debt_us + 1, part - limit.n end
    if debt_us > limit.full_us or (debt_us == limit.full_us and part > limit.full_part) then debt_us, part = limit.full_us, limit.full_part end
  end
  return { whole = debt_us < 0 and debt_us - now_us or debt_us + now_us, part = part }
end

-- `back`: when all of it has come back by itself.
function greedy.refunded(state, back_whole, back_part, cost_us, cost_part, n, is_queue)
  if back_whole < now_us or state.whole < now_us then return nil end
  if is_queue == 1 and (state.whole ~= back_whole or state.part ~= back_part) then return nil end
  local owed_us, owed_part = back_whole - now_us, back_part
  if cost_us < owed_us or (cost_us == owed_us and cost_part <= owed_part) then owed_us, owed_part = cost_us, cost_part end
  local whole, part = state.whole - owed_us, state.part - owed_part
  if part < 0 then whole, part = whole - 1, part + n end
  if whole < now_us then return { whole = now_us, part = 0 } end
  return { whole = whole, part = part }
end

function greedy.missing(g, state, at_us)
  local debt_us, part = debt_at(state, at_us)
  return tokens_of_debt(debt_us, part, g.n, g.interval_us)
end

function greedy.state_missing(g, whole, part, of, at_us)
  local debt_us, parts = debt_of_tokens(whole, part, of, g.n, g.interval_us)
  return { whole = at_us + debt_us, part = parts }
end

return greedy
