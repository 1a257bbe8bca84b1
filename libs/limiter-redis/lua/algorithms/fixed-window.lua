--[[
Counts in windows that follow one another; fixed-window.ts does the same.
Numbers  cost, limit; besides f64 used at the start, when the limit started, length of a window: negative if the first request opens it, 0
         with a calendar, which only the caller knows: then f64 the start of the window in which the limit started, and four
         boundaries: of the window that the caller thinks is now, and of those beside it
Former   length, nothing; with a calendar besides the starts of the windows in which these numbers and the next ones began, and the four boundaries
Text     :<used>w behind the start of the window; :<used>,<used before>,<until when that counts>w after the clock stepped back out of one
]]
-- A state: { a = used, b = start of the window, held = used before the clock stepped back, or 0, till = until when that counts }.
local window = { suffix = 'w', names = { 'length', 'nothing' }, numbers = 4 }

-- The window of a calendar that holds now.
local function of_calendar(limit)
  -- Nobody decides by windows that are not those of now.
  if now < limit.before or now >= limit.after then
    ask_again()
    return now, now
  end
  if now < limit.begins then return limit.before, limit.begins end
  if now < limit.ends then return limit.begins, limit.ends end
  return limit.ends, limit.after
end

-- When the window around an instant begins: now, or when these numbers or the next ones came into force.
local function start_of(limit, at)
  if limit.length > 0 then return floor(at / limit.length) * limit.length end
  if at == limit.started then return limit.start_window end
  if at == limit.next_started then return limit.next_window end
  return (of_calendar(limit))
end

local function read_boundaries(limit, position)
  limit.before, limit.begins, limit.ends, limit.after, position = unpack_struct('<dddd', requests, position)
  return position
end

function window.read(cost, capacity, position)
  local start, started, length
  start, started, length, position = unpack_struct('<ddd', requests, position)
  local limit = { cost = cost, capacity = capacity, start = start, started = started, lacks = start > 0, is_full_at_start = start == 0, length = length, from = now, to = now }
  if length == 0 then
    limit.start_window, position = unpack_struct('<d', requests, position)
    position = read_boundaries(limit, position)
    limit.from, limit.to = of_calendar(limit)
  elseif length > 0 then
    limit.from = start_of(limit, now)
    limit.to = limit.from + length
  end
  return limit, position
end

function window.read_former(g, position)
  if g.length ~= 0 then return position end
  g.start_window, g.next_window, position = unpack_struct('<dd', requests, position)
  return read_boundaries(g, position)
end

function window.started(limit)
  local from
  if limit.length == 0 then from = min(limit.start_window, limit.from) else from = min(now, limit.started) end
  if limit.length > 0 then from = start_of(limit, from) end
  return { a = limit.start, b = from, held = 0, till = 0 }
end

-- What counts of what was used before the clock stepped back.
local function used_before(state, at) return at < state.till and state.held or 0 end

function window.clamped(limit, state)
  local is_early = state.b > now and state.a > 0
  if limit.length < 0 then return is_early and { a = state.a, b = now, held = 0, till = 0 } or state end
  if not is_early and state.till <= now then return state end
  local till = now + limit.to - limit.from
  if not is_early then return state.till > till and { a = state.a, b = state.b, held = state.held, till = till } or state end
  return { a = 0, b = limit.from, held = min(limit.capacity, state.a + used_before(state, now)), till = till }
end

function window.parse(instant, rest)
  local used, held, till = match(rest, '^(%d+),?(%d*),?(%d*)$')
  return { a = tonumber(used) or 0, b = instant, held = tonumber(held) or 0, till = tonumber(till) or 0 }
end

function window.text(generation, state)
  if used_before(state, now) == 0 then return instant_and_amount(generation, state.b, state.a, 'w') end
  return format('%s:%.0f,%.0f,%.0fw', with_generation(generation, state.b), state.a, state.held, state.till)
end

-- What was used in the window in force at an instant, when that begins, and when it ends.
local function in_force(limit, state, at)
  if limit.length < 0 then
    if state.a > 0 and at < state.b - limit.length then return state.a, state.b, state.b - limit.length end
    return 0, at, at - limit.length
  end
  local from = limit.from or start_of(limit, at)
  return state.b >= from and state.a or 0, from, limit.to
end

function window.take(limit, state)
  local used, from, to = in_force(limit, state, now)
  local left, before = to - now, used_before(state, now)
  local allowed
  if before == 0 then
    allowed = window_answer(limit, used, left, left, left)
  else
    local held = state.till - now
    local first_is_enough = (held < left and used or before) + limit.cost <= limit.capacity
    allowed = window_answer(limit, used + before, first_is_enough and min(left, held) or max(left, held), used == 0 and held or max(left, held), max(left, held))
  end
  if limit.cost == 0 then return allowed end
  return allowed, { a = used + limit.cost, b = from, held = before, till = before > 0 and state.till or 0 }
end

function window.full_at(limit, state)
  local till = used_before(state, now) > 0 and state.till or 0
  if limit.length < 0 then return state.b - limit.length end
  if limit.length > 0 then return max(till, state.b + limit.length) end
  -- Of a calendar's windows only those around now are known.
  if state.b == limit.from then return max(till, limit.to) end
  return till > 0 and till or nil
end

function window.refunded(state, from, cost, has_opened)
  if state.b ~= from or (has_opened == 1 and state.a > cost) then return nil end
  return { a = max(0, state.a - cost), b = from, held = state.held, till = state.till }
end

function window.adjusted(limit, state, adds)
  local used, from = in_force(limit, state, now)
  local before = used_before(state, now)
  if adds then
    used, before = max(0, used - limit.cost), max(0, before - max(0, limit.cost - used))
  else
    used = used + takable(limit, used + before)
  end
  return { a = used, b = from, held = before, till = before > 0 and state.till or 0 }
end

function window.missing(g, state, at) return in_force(g, state, at) + used_before(state, at), 0, 1 end

function window.state_missing(g, whole, part, _, at)
  local from = at
  if g.length >= 0 then from = start_of(g, at) end
  return { a = used_of(g, whole, part), b = from, held = 0, till = 0 }
end

return window
