--[[
Continuous refill: the state is the instant at which the bucket will be full; greedy-refill.ts does the same.
Numbers  price, time to full, in microseconds, of a bucket that starts full
Former   n, interval
Reply    the debt in microseconds
Text     nothing; or .<part>f
]]
-- A state: { a = instant, b = part }, negative for a surplus.
local WITH_PART = '%s.' .. WHOLE .. 'f'
local greedy = { suffix = 'f', names = { 'n', 'interval' }, numbers = 1 }

function greedy.read(price, full, position)
  return {
    price = price, full = full, with_parts = false, n = 1, price_part = 0, full_part = 0, start = 0, start_part = 0,
    surplus = 0, started = 0, lacks = false, is_full_at_start = true, max_wait = math.huge,
  }, position
end

function greedy.started(limit)
  if limit.is_full_at_start then return { a = 0, b = 0 } end
  local early = limit.started - now
  if early <= 0 then return { a = limit.start, b = limit.start_part } end
  -- Whoever looks before the limit starts finds its start.
  return { a = limit.start < 0 and limit.start + early or limit.start - early, b = limit.start_part }
end

function greedy.clamped(limit, state)
  if state.a < 0 then
    if state.a + now < limit.surplus then return { a = limit.surplus - now, b = 0 } end
    return state
  end
  local debt = state.a - now
  if debt > limit.full or (debt == limit.full and state.b > limit.full_part) then return { a = now + limit.full, b = limit.full_part } end
  return state
end

function greedy.parse(instant, rest) return { a = instant, b = tonumber(rest) or 0 } end

function greedy.text(generation, state)
  local head = with_generation(generation, state.a)
  if state.b == 0 then return head end
  return format(WITH_PART, head, state.b)
end

function greedy.take(limit, state)
  local debt, part = 0, state.b
  if state.a < 0 then debt = state.a + now else debt = state.a - now end
  if (state.a < 0) == (debt >= 0) then debt, part = 0, 0 end
  local wait = debt
  if limit.with_parts then answer(debt, part) else answer(debt) end
  debt, part = debt + limit.price, part + limit.price_part
  if part >= limit.n then debt, part = debt + 1, part - limit.n end
  local allowed = (debt < limit.full or (debt == limit.full and part <= limit.full_part))
  if limit.price == 0 and limit.price_part == 0 then return allowed end
  return allowed and wait <= limit.max_wait, { a = debt < 0 and debt - now or debt + now, b = part }
end

function greedy.full_at(_, state) return state.a < 0 and -state.a or state.a + 1 end

function greedy.full() return { a = now, b = 0 } end

function greedy.adjusted(limit, state, adds)
  local debt, part = 0, state.b
  if state.a < 0 then debt = state.a + now else debt = state.a - now end
  if (state.a < 0) == (debt >= 0) then debt, part = 0, 0 end
  if adds then
    if debt < 0 then return state end
    debt, part = debt - limit.price, part - limit.price_part
    if part < 0 then debt, part = debt - 1, part + limit.n end
    if debt < 0 then debt, part = 0, 0 end
  else
    debt, part = debt + limit.price, part + limit.price_part
    if part >= limit.n then debt, part = debt + 1, part - limit.n end
    if debt > limit.full or (debt == limit.full and part > limit.full_part) then debt, part = limit.full, limit.full_part end
  end
  return { a = debt < 0 and debt - now or debt + now, b = part }
end

-- `back`: when all of it has come back by itself.
function greedy.refunded(state, back, back_part, price, price_part, n, is_queue)
  if back < now or state.a < now then return nil end
  if is_queue == 1 and (state.a ~= back or state.b ~= back_part) then return nil end
  local owed, owed_part = back - now, back_part
  if price < owed or (price == owed and price_part <= owed_part) then owed, owed_part = price, price_part end
  local instant, part = state.a - owed, state.b - owed_part
  if part < 0 then instant, part = instant - 1, part + n end
  if instant < now then return { a = now, b = 0 } end
  return { a = instant, b = part }
end

function greedy.missing(g, state, at)
  local debt, part = 0, 0
  if state.a < 0 then
    debt = min(0, state.a + at)
    if state.a + at < 0 then part = state.b end
  else
    debt = max(0, state.a - at)
    if state.a >= at then part = state.b end
  end
  return tokens_of_debt(debt, part, g.n, g.interval)
end

function greedy.state_missing(g, whole, part, of, at)
  local debt, parts = debt_of_tokens(whole, part, of, g.n, g.interval)
  return { a = at + debt, b = parts }
end

return greedy
