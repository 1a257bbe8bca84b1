--[[
Refill in whole steps; interval.ts in the limiter does the same.
Take        f64 cost_tokens, capacity_tokens, start_tokens, started_us, refill_tokens, interval_us: negative if steps are aligned to the
            clock, 0 if they are to a calendar, which only the caller knows: then f64 start_step_us, the last step when the limit started;
            longest_us, from step to step at most; change_us, by how much clocks may change; and the steps around what the caller thinks
            is now: u8 how many, f64 each; as many before the window of now as fill the bucket, one more on either side, and where those
            windows end
Generation  f64 refill_tokens, interval_us; with a calendar then f64 start_step_us, the last step when these numbers came into force; the
            steps around now as above; and u8, f64 each: as many as fill the bucket up to when the next numbers came into force
Refund      step_us, cost_tokens, capacity_tokens, refill_tokens, interval_us, after_us: see `refunded`
Reply       tokens, since_step_us: negative if the clock stepped back behind the last step
Text        :<tokens>i behind the step
]]
-- A state: { tokens, stepped_at_us }. An aligned step may be the one after now: see interval.ts.
local interval = {}

-- Steps of a calendar, the oldest first.
local function read_steps(position)
  local count
  count, position = unpack_struct('<B', requests, position)
  local steps = { unpack_struct('<' .. rep('d', count), requests, position) }
  return steps, table.remove(steps)
end

local function steps_to_full(limit) return max(1, ceil(limit.capacity_tokens / limit.refill_tokens)) end

local function read_steps_of_now(limit, position)
  limit.steps_us, position = read_steps(position)
  local last = #limit.steps_us
  while last > 0 and limit.steps_us[last] > now_us do last = last - 1 end
  limit.at_now = last
  -- Nobody decides by steps that are not those of now.
  if last < steps_to_full(limit) or last == #limit.steps_us then ask_again() end
  return position
end

-- The steps of a calendar, and the place of the last one up to an instant: now, or when the next numbers came into force, or before. 0 if none is
-- known that is as old: then those that are known fill the bucket.
local function steps_until(limit, at_us)
  if at_us == limit.next_started_us then return limit.next_steps_us, #limit.next_steps_us end
  local steps, last = limit.steps_us, limit.at_now
  if limit.next_started_us and at_us < limit.next_started_us and limit.next_started_us <= now_us then
    steps, last = limit.next_steps_us, #limit.next_steps_us
  end
  while last > 0 and steps[last] > at_us do last = last - 1 end
  return steps, last
end

function interval.read(position)
  local cost_tokens, capacity_tokens, start_tokens, started_us, refill_tokens, interval_us
  cost_tokens, capacity_tokens, start_tokens, started_us, refill_tokens, interval_us, position = unpack_struct('<dddddd', requests, position)
  local limit = {
    cost_tokens = cost_tokens, needed_tokens = cost_tokens, capacity_tokens = capacity_tokens, start_tokens = start_tokens, started_us = started_us,
    lacks = start_tokens < capacity_tokens, is_full_at_start = start_tokens == capacity_tokens, refill_tokens = refill_tokens,
    interval_us = interval_us, start_step_us = 0, longest_us = 0, change_us = 0, steps_us = false, at_now = 0,
  }
  if interval_us == 0 then
    limit.start_step_us, limit.longest_us, limit.change_us, position = unpack_struct('<ddd', requests, position)
    position = read_steps_of_now(limit, position)
  end
  return limit, position
end

function interval.read_generation(g, position)
  g.refill_tokens, g.interval_us, position = unpack_struct('<dd', requests, position)
  if g.interval_us ~= 0 then return position end
  g.start_step_us, position = unpack_struct('<d', requests, position)
  position = read_steps_of_now(g, position)
  g.next_steps_us, position = read_steps(position)
  return position
end

-- Without an alignment a step is whenever one looks.
local function step_at(limit, at_us)
  if limit.interval_us > 0 then return at_us end
  if limit.interval_us < 0 then return floor(at_us / -limit.interval_us) * -limit.interval_us end
  if at_us == limit.started_us then return limit.start_step_us end
  local steps, last = steps_until(limit, at_us)
  return steps[last] or at_us
end

-- The first aligned step after now.
local function next_step(limit)
  if limit.interval_us < 0 then return step_at(limit, now_us) - limit.interval_us end
  local steps, last = steps_until(limit, now_us)
  return steps[last + 1] or now_us
end

-- The steps after an instant, up to another: now, or when the next numbers came into force. Of a calendar's no more than fill a bucket are known.
local function steps_between(limit, from_us, to_us)
  if limit.interval_us > 0 then return max(0, floor((to_us - from_us) / limit.interval_us)) end
  if limit.interval_us < 0 then return max(0, ceil((step_at(limit, to_us) - from_us) / -limit.interval_us)) end
  local steps, last = steps_until(limit, to_us)
  local most, count = steps_to_full(limit), 0
  while steps[last - count] and steps[last - count] > from_us do
    count = count + 1
    if count == most then return math.huge end
  end
  return count
end

function interval.started(limit) return { tokens = limit.start_tokens, stepped_at_us = step_at(limit, min(now_us, limit.started_us)) } end

function interval.parse(instant, rest) return { tokens = tonumber(rest) or 0, stepped_at_us = instant } end

function interval.text(generation, state)
  return instant_and_amount(generation, state.stepped_at_us, state.tokens, 'i')
end

-- Tokens at an instant, and the time since the last step.
local function level(limit, state, at_us)
  local elapsed_us = at_us - state.stepped_at_us
  local steps = steps_between(limit, state.stepped_at_us, at_us)
  if steps == 0 then return state.tokens, limit.interval_us > 0 and max(0, elapsed_us) or elapsed_us end
  local tokens = min(limit.capacity_tokens, state.tokens + steps * limit.refill_tokens)
  if limit.interval_us > 0 then return tokens, elapsed_us - steps * limit.interval_us end
  return tokens, at_us - step_at(limit, at_us)
end

function interval.clamped(limit, state)
  if state.stepped_at_us > now_us then
    local latest_us = limit.interval_us > 0 and now_us or next_step(limit)
    if state.stepped_at_us > latest_us then return { tokens = max(0, state.tokens), stepped_at_us = latest_us } end
  end
  if state.tokens >= 0 then return state end
  local tokens, since_step_us = level(limit, state, now_us)
  if tokens >= 0 then return state end
  return { tokens = 0, stepped_at_us = now_us - since_step_us }
end

function interval.take(limit, state)
  local tokens, since_step_us = level(limit, state, now_us)
  answer(tokens, since_step_us)
  if limit.cost_tokens == 0 then return true end
  return tokens >= limit.needed_tokens, { tokens = tokens - limit.cost_tokens, stepped_at_us = now_us - since_step_us }
end

function interval.occupied(g, state, lent_tokens, at_us)
  if g.interval_us == 0 then
    local _, last = steps_until(g, at_us)
    if last == 0 then return state end
  end
  local tokens, since_step_us = level(g, state, at_us)
  local most_tokens = g.capacity_tokens - lent_tokens
  if tokens <= most_tokens then return state end
  return { tokens = most_tokens, stepped_at_us = at_us - since_step_us }
end

function interval.costing(_, tokens) return { cost_tokens = tokens } end

function interval.leaving(limit, tokens) return { needed_tokens = limit.cost_tokens + tokens } end

-- A surplus is over with the next step. Of a calendar at the latest: what is known of it depends on when one looks, and this must not.
function interval.full_at(limit, state)
  local steps = state.tokens > limit.capacity_tokens and 1 or ceil((limit.capacity_tokens - state.tokens) / limit.refill_tokens)
  if limit.interval_us == 0 then return state.stepped_at_us + steps * limit.longest_us + limit.change_us end
  return state.stepped_at_us + steps * math.abs(limit.interval_us)
end

-- With a calendar `step_us` is the next step, until which the caller has counted those that brought something back, and `after_us` the one after
-- that, from which on nothing is known.
function interval.refunded(state, step_us, cost_tokens, capacity_tokens, refill_tokens, interval_us, after_us)
  local owed_tokens
  if interval_us == 0 then
    if now_us >= after_us then return nil end
    owed_tokens = now_us < step_us and cost_tokens or cost_tokens - refill_tokens
  else
    owed_tokens = cost_tokens - steps_between({ interval_us = interval_us }, step_us, now_us) * refill_tokens
  end
  if owed_tokens <= 0 or state.tokens >= capacity_tokens then return nil end
  return { tokens = min(capacity_tokens, state.tokens + owed_tokens), stepped_at_us = state.stepped_at_us }
end

function interval.adjusted(limit, state, adds)
  local tokens, since_step_us = level(limit, state, now_us)
  local moved = tokens + (adds and limit.cost_tokens or -limit.cost_tokens)
  return { tokens = adds and max(tokens, min(limit.capacity_tokens, moved)) or max(0, moved), stepped_at_us = now_us - since_step_us }
end

function interval.missing(g, state, at_us) return g.capacity_tokens - level(g, state, at_us), 0, 1 end

function interval.state_missing(g, whole, part, _, at_us) return { tokens = g.capacity_tokens - whole - (part > 0 and 1 or 0), stepped_at_us = step_at(g, at_us) } end

return interval
