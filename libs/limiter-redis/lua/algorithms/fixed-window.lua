--[[
Counts in windows that follow one another; fixed-window.ts in the limiter does the same.
Take        f64 cost_tokens, capacity_tokens, start_used, started_us, length_us of a window: negative if the first request opens it, 0 with a
            calendar, which only the caller knows: then f64 start_window_us, the start of the window in which the limit started, and
            four boundaries: of the window that the caller thinks is now, and of those beside it
Generation  f64 length_us; with a calendar then f64 start_window_us, next_window_us: the starts of the windows in which these numbers and the
            next ones came into force; and the four boundaries
Refund      start_us of the window, cost_tokens, 1 if the request opened the window
Reply       see windows.lua
Text        :<used>w behind the start of the window; :<used>,<held_used>,<held_until_us>w after the clock stepped back out of one
]]
-- A state: { used, start_us, held_used, held_until_us }: what was used in the window that begins at start_us; and what was used before the
-- clock stepped back, or 0, which counts until held_until_us.
local window = {}

-- The window of a calendar that holds now.
local function of_calendar(limit)
  -- Nobody decides by windows that are not those of now.
  if now_us < limit.before_us or now_us >= limit.after_us then
    ask_again()
    return now_us, now_us
  end
  if now_us < limit.begins_us then return limit.before_us, limit.begins_us end
  if now_us < limit.ends_us then return limit.begins_us, limit.ends_us end
  return limit.ends_us, limit.after_us
end

-- When the window around an instant begins: now, or when these numbers or the next ones came into force.
local function start_of(limit, at_us)
  if limit.length_us > 0 then return floor(at_us / limit.length_us) * limit.length_us end
  if at_us == limit.started_us then return limit.start_window_us end
  if at_us == limit.next_started_us then return limit.next_window_us end
  return (of_calendar(limit))
end

local function read_boundaries(limit, position)
  limit.before_us, limit.begins_us, limit.ends_us, limit.after_us, position = unpack_struct('<dddd', requests, position)
  return position
end

function window.read(position)
  local cost_tokens, capacity_tokens, start_used, started_us, length_us
  cost_tokens, capacity_tokens, start_used, started_us, length_us, position = unpack_struct('<ddddd', requests, position)
  local limit = {
    cost_tokens = cost_tokens, capacity_tokens = capacity_tokens, start_used = start_used, started_us = started_us, lacks = start_used > 0,
    is_full_at_start = start_used == 0, length_us = length_us, start_us = now_us, end_us = now_us,
  }
  if length_us == 0 then
    limit.start_window_us, position = unpack_struct('<d', requests, position)
    position = read_boundaries(limit, position)
    limit.start_us, limit.end_us = of_calendar(limit)
  elseif length_us > 0 then
    limit.start_us = start_of(limit, now_us)
    limit.end_us = limit.start_us + length_us
  end
  return limit, position
end

function window.read_generation(g, position)
  g.length_us, position = unpack_struct('<d', requests, position)
  if g.length_us ~= 0 then return position end
  g.start_window_us, g.next_window_us, position = unpack_struct('<dd', requests, position)
  return read_boundaries(g, position)
end

function window.started(limit)
  local start_us
  if limit.length_us == 0 then start_us = min(limit.start_window_us, limit.start_us) else start_us = min(now_us, limit.started_us) end
  if limit.length_us > 0 then start_us = start_of(limit, start_us) end
  return { used = limit.start_used, start_us = start_us, held_used = 0, held_until_us = 0 }
end

-- What counts of what was used before the clock stepped back.
local function used_before(state, at_us) return at_us < state.held_until_us and state.held_used or 0 end

function window.clamped(limit, state)
  local is_early = state.start_us > now_us and state.used > 0
  if limit.length_us < 0 then return is_early and { used = state.used, start_us = now_us, held_used = 0, held_until_us = 0 } or state end
  if not is_early and state.held_until_us <= now_us then return state end
  local held_until_us = now_us + limit.end_us - limit.start_us
  if not is_early then
    if state.held_until_us <= held_until_us then return state end
    return { used = state.used, start_us = state.start_us, held_used = state.held_used, held_until_us = held_until_us }
  end
  local held_used = min(limit.capacity_tokens, state.used + used_before(state, now_us))
  return { used = 0, start_us = limit.start_us, held_used = held_used, held_until_us = held_until_us }
end

function window.parse(instant, rest)
  local used, held_used, held_until_us = match(rest, '^(%d+),?(%d*),?(%d*)$')
  return { used = tonumber(used) or 0, start_us = instant, held_used = tonumber(held_used) or 0, held_until_us = tonumber(held_until_us) or 0 }
end

function window.text(generation, state)
  if used_before(state, now_us) == 0 then return instant_and_amount(generation, state.start_us, state.used, 'w') end
  return format('%s:%.0f,%.0f,%.0fw', with_generation(generation, state.start_us), state.used, state.held_used, state.held_until_us)
end

-- What was used in the window in force at an instant, when that begins, and when it ends.
local function in_force(limit, state, at_us)
  if limit.length_us < 0 then
    if state.used > 0 and at_us < state.start_us - limit.length_us then return state.used, state.start_us, state.start_us - limit.length_us end
    return 0, at_us, at_us - limit.length_us
  end
  local start_us = limit.start_us or start_of(limit, at_us)
  return state.start_us >= start_us and state.used or 0, start_us, limit.end_us
end

function window.take(limit, state)
  local used, start_us, end_us = in_force(limit, state, now_us)
  local left_us, before = end_us - now_us, used_before(state, now_us)
  local allowed
  if before == 0 then
    allowed = window_answer(limit, used, left_us, left_us, left_us)
  else
    local held_us = state.held_until_us - now_us
    local last_us = max(left_us, held_us)
    local first_is_enough = (held_us < left_us and used or before) + limit.cost_tokens <= limit.capacity_tokens
    allowed = window_answer(limit, used + before, first_is_enough and min(left_us, held_us) or last_us, used == 0 and held_us or last_us, last_us)
  end
  if limit.cost_tokens == 0 then return allowed end
  return allowed, { used = used + limit.cost_tokens, start_us = start_us, held_used = before, held_until_us = before > 0 and state.held_until_us or 0 }
end

-- When the window begins in which an instant is, or one after it, of which nothing is left from before.
local function latest_start(limit, at_us)
  if limit.length_us > 0 then return start_of(limit, at_us) end
  if limit.next_started_us and limit.next_started_us <= now_us then return limit.next_window_us end
  return (of_calendar(limit))
end

function window.occupied(g, state, tokens, at_us)
  local used, start_us
  if g.length_us < 0 then
    used, start_us = in_force(g, state, at_us)
  else
    start_us = latest_start(g, at_us)
    if at_us < start_us then return state end
    used = state.start_us >= start_us and state.used or 0
  end
  local before = used_before(state, at_us)
  if used + before >= tokens then return state end
  return { used = tokens - before, start_us = start_us, held_used = state.held_used, held_until_us = state.held_until_us }
end

function window.leases_end_us(limit, state)
  local _, _, end_us = in_force(limit, state, now_us)
  return end_us
end

function window.costing(_, tokens) return { cost_tokens = tokens } end

window.leaving = window_leaving

function window.full_at(limit, state)
  local held_until_us = used_before(state, now_us) > 0 and state.held_until_us or 0
  if limit.length_us < 0 then return state.start_us - limit.length_us end
  if limit.length_us > 0 then return max(held_until_us, state.start_us + limit.length_us) end
  -- Of a calendar's windows only those around now are known.
  if state.start_us == limit.start_us then return max(held_until_us, limit.end_us) end
  return held_until_us > 0 and held_until_us or nil
end

function window.refunded(state, start_us, cost_tokens, has_opened)
  if state.start_us ~= start_us or (has_opened == 1 and state.used > cost_tokens) then return nil end
  return { used = max(0, state.used - cost_tokens), start_us = start_us, held_used = state.held_used, held_until_us = state.held_until_us }
end

function window.adjusted(limit, state, adds)
  local used, start_us = in_force(limit, state, now_us)
  local before = used_before(state, now_us)
  if adds then
    used, before = max(0, used - limit.cost_tokens), max(0, before - max(0, limit.cost_tokens - used))
  else
    used = used + takable(limit, used + before)
  end
  return { used = used, start_us = start_us, held_used = before, held_until_us = before > 0 and state.held_until_us or 0 }
end

function window.missing(g, state, at_us) return in_force(g, state, at_us) + used_before(state, at_us), 0, 1 end

function window.state_missing(g, whole, part, _, at_us)
  local start_us = at_us
  if g.length_us >= 0 then start_us = start_of(g, at_us) end
  return { used = used_of(g, whole, part), start_us = start_us, held_used = 0, held_until_us = 0 }
end

return window
