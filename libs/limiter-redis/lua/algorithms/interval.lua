--[[
Refill in whole steps; interval-refill.ts does the same.
Numbers  cost, capacity; besides f64 tokens at the start, when the limit started, refill, interval: negative if steps are aligned to the clock, 0
         if they are to a calendar, which only the caller knows: then f64 the last step when the limit started, f64 microseconds from step
         to step, at most, f64 by how much clocks may change, and the steps around what the caller thinks is now: u8 how many, f64 each;
         as many before the window of now as fill the bucket, one more on either side, and where those windows end
Former   refill, interval; with a calendar besides f64 the last step when these numbers came into force, the steps around now as above, and
         u8, f64 each: as many as fill the bucket up to when the next numbers came into force
Reply    tokens, microseconds since the last step: negative if the clock stepped back behind it
Text     :<tokens>i behind the step
]]
-- A state: { a = tokens, b = step }. An aligned step may be the one after now: see interval-refill.ts.
local interval = { suffix = 'i', names = { 'refill', 'every' }, numbers = 2 }

-- Steps of a calendar, the oldest first.
local function read_steps(position)
  local count
  count, position = unpack_struct('<B', requests, position)
  local steps = { unpack_struct('<' .. rep('d', count), requests, position) }
  return steps, table.remove(steps)
end

local function steps_to_full(limit) return max(1, ceil(limit.capacity / limit.refill)) end

local function read_steps_of_now(limit, position)
  limit.steps, position = read_steps(position)
  local last = #limit.steps
  while last > 0 and limit.steps[last] > now do last = last - 1 end
  limit.at_now = last
  -- Nobody decides by steps that are not those of now.
  if last < steps_to_full(limit) or last == #limit.steps then ask_again() end
  return position
end

-- The steps of a calendar, and the place of the last one up to an instant: now, or when the next numbers came into force.
local function steps_until(limit, at)
  if at == limit.next_started then return limit.next_steps, #limit.next_steps end
  return limit.steps, limit.at_now
end

function interval.read(cost, capacity, position)
  local start, started, refill, every
  start, started, refill, every, position = unpack_struct('<dddd', requests, position)
  local limit = { cost = cost, capacity = capacity, start = start, started = started, lacks = start < capacity, is_full_at_start = start == capacity,
    refill = refill, every = every, start_step = 0, longest = 0, change = 0, steps = false, at_now = 0 }
  if every == 0 then
    limit.start_step, limit.longest, limit.change, position = unpack_struct('<ddd', requests, position)
    position = read_steps_of_now(limit, position)
  end
  return limit, position
end

function interval.read_former(g, position)
  if g.every ~= 0 then return position end
  g.start_step, position = unpack_struct('<d', requests, position)
  position = read_steps_of_now(g, position)
  g.next_steps, position = read_steps(position)
  return position
end

-- Without an alignment a step is whenever one looks.
local function step_at(limit, at)
  if limit.every > 0 then return at end
  if limit.every < 0 then return floor(at / -limit.every) * -limit.every end
  if at == limit.started then return limit.start_step end
  local steps, last = steps_until(limit, at)
  return steps[last] or at
end

-- The first aligned step after now.
local function next_step(limit)
  if limit.every < 0 then return step_at(limit, now) - limit.every end
  local steps, last = steps_until(limit, now)
  return steps[last + 1] or now
end

-- The steps after an instant, up to another: now, or when the next numbers came into force. Of a calendar's no more than fill a bucket are known.
local function steps_between(limit, from, to)
  if limit.every > 0 then return max(0, floor((to - from) / limit.every)) end
  if limit.every < 0 then return max(0, ceil((step_at(limit, to) - from) / -limit.every)) end
  local steps, last = steps_until(limit, to)
  local most, count = steps_to_full(limit), 0
  while steps[last - count] and steps[last - count] > from do
    count = count + 1
    if count == most then return math.huge end
  end
  return count
end

function interval.started(limit) return { a = limit.start, b = step_at(limit, min(now, limit.started)) } end

function interval.parse(instant, rest) return { a = tonumber(rest) or 0, b = instant } end

function interval.text(generation, state)
  return instant_and_amount(generation, state.b, state.a, 'i')
end

-- Tokens at an instant, and the time since the last step.
local function level(limit, state, at)
  local elapsed = at - state.b
  local steps = steps_between(limit, state.b, at)
  if steps == 0 then return state.a, limit.every > 0 and max(0, elapsed) or elapsed end
  local tokens = min(limit.capacity, state.a + steps * limit.refill)
  if limit.every > 0 then return tokens, elapsed - steps * limit.every end
  return tokens, at - step_at(limit, at)
end

function interval.clamped(limit, state)
  if state.b > now then
    local latest = limit.every > 0 and now or next_step(limit)
    if state.b > latest then return { a = max(0, state.a), b = latest } end
  end
  if state.a >= 0 then return state end
  local tokens, since = level(limit, state, now)
  if tokens >= 0 then return state end
  return { a = 0, b = now - since }
end

function interval.take(limit, state)
  local tokens, since = level(limit, state, now)
  answer(tokens, since)
  if limit.cost == 0 then return true end
  return tokens >= limit.cost, { a = tokens - limit.cost, b = now - since }
end

-- A surplus is over with the next step. Of a calendar at the latest: what is known of it depends on when one looks, and this must not.
function interval.full_at(limit, state)
  local steps = state.a > limit.capacity and 1 or ceil((limit.capacity - state.a) / limit.refill)
  if limit.every == 0 then return state.b + steps * limit.longest + limit.change end
  return state.b + steps * math.abs(limit.every)
end

-- With a calendar `step` is the next step, until which the caller has counted those that brought something back, and `after` the one after
-- that, from which on nothing is known.
function interval.refunded(state, step, cost, capacity, refill, every, after)
  local owed
  if every == 0 then
    if now >= after then return nil end
    owed = now < step and cost or cost - refill
  else
    owed = cost - steps_between({ every = every }, step, now) * refill
  end
  if owed <= 0 or state.a >= capacity then return nil end
  return { a = min(capacity, state.a + owed), b = state.b }
end

function interval.adjusted(limit, state, adds)
  local tokens, since = level(limit, state, now)
  local moved = tokens + (adds and limit.cost or -limit.cost)
  return { a = adds and max(tokens, min(limit.capacity, moved)) or max(0, moved), b = now - since }
end

function interval.missing(g, state, at) return g.capacity - level(g, state, at), 0, 1 end

function interval.state_missing(g, whole, part, _, at) return { a = g.capacity - whole - (part > 0 and 1 or 0), b = step_at(g, at) } end

return interval
