--[[
Counts in parts of a window, the oldest by how much of it is still inside; sliding-counter.ts in the limiter does the same.
Take        f64 cost_tokens, capacity_tokens, start_used, started_us, parts, part_us: the length of a part
Generation  f64 parts, part_us
Refund      start_us of the part, cost_tokens, part_us
Reply       see windows.lua
Text        :<newest>,...,<oldest>c behind the start of the newest part
]]
-- A state: { start_us, counts }: the start of the newest part, and the tokens of each, the newest first; one more than there are parts.
local counter = {}

function counter.read(position)
  local cost_tokens, capacity_tokens, start_used, started_us, parts, part_us
  cost_tokens, capacity_tokens, start_used, started_us, parts, part_us, position = unpack_struct('<dddddd', requests, position)
  return {
    cost_tokens = cost_tokens, capacity_tokens = capacity_tokens, start_used = start_used, started_us = started_us, lacks = start_used > 0,
    is_full_at_start = start_used == 0, parts = parts, part_us = part_us,
  }, position
end

function counter.read_generation(generation, position)
  generation.parts, generation.part_us, position = unpack_struct('<dd', requests, position)
  return position
end

local function part_of(limit, at_us) return floor(at_us / limit.part_us) * limit.part_us end

local function filled_with(first, limit, at_us)
  local counts = { first }
  for i = 2, limit.parts + 1 do counts[i] = 0 end
  return { counts = counts, start_us = part_of(limit, at_us) }
end

function counter.started(limit) return filled_with(limit.start_used, limit, min(now_us, limit.started_us)) end

function counter.parse(instant, rest)
  local counts = {}
  for count in gmatch(rest, '%d+') do counts[#counts + 1] = tonumber(count) end
  return { counts = counts, start_us = instant }
end

function counter.fits(limit, state) return #state.counts == limit.parts + 1 and state.start_us % limit.part_us == 0 end

function counter.text(generation, state)
  -- Counts have ten digits at most; up to fourteen stand there as they are.
  return with_generation(generation, state.start_us) .. ':' .. concat(state.counts, ',') .. 'c'
end

-- The counts as of the part that holds an instant.
local function shifted(parts, part_us, state, at_us)
  local start_us = floor(at_us / part_us) * part_us
  local steps = (start_us - state.start_us) / part_us
  if steps <= 0 then return { counts = state.counts, start_us = start_us } end
  local counts = {}
  for i = 1, parts + 1 do counts[i] = i > steps and state.counts[i - steps] or 0 end
  return { counts = counts, start_us = start_us }
end

local function weighted(count, inside_us, part_us) return (mul_div(count, inside_us, part_us)) end

local function used_at(parts, part_us, state, at_us)
  local whole = 0
  for i = 1, parts do whole = whole + state.counts[i] end
  return whole + weighted(state.counts[parts + 1], part_us - (at_us - state.start_us), part_us)
end

local function opening_us(leaving, room, part_us)
  if leaving <= room then return 0 end
  local inside_us, rest = mul_div(room + 1, part_us, leaving)
  return part_us - (rest > 0 and inside_us or inside_us - 1)
end

local function opens_after_us(parts, part_us, counts, room)
  local whole = 0
  for i = 1, parts do whole = whole + counts[i] end
  for gone = 0, parts do
    if whole <= room then return gone * part_us + opening_us(counts[parts + 1 - gone], room - whole, part_us) end
    if gone < parts then whole = whole - counts[parts - gone] end
  end
  return (parts + 1) * part_us
end

local function empty_after_us(parts, part_us, counts)
  for i = 1, parts + 1 do
    if counts[i] > 0 then return (parts + 2 - i) * part_us end
  end
  return 0
end

function counter.clamped(limit, state)
  local parts, part_us = limit.parts, limit.part_us
  local start_us = part_of(limit, now_us)
  if state.start_us <= start_us then return state end
  local steps = (state.start_us - start_us) / part_us
  local counts, future = {}, 0
  for i = 1, parts + 1 do
    counts[i] = state.counts[i + steps] or 0
    if i <= steps then future = future + state.counts[i] end
  end
  local shown = { counts = counts, start_us = start_us }
  counts[1] = counts[1] + min(future, max(0, limit.capacity_tokens - used_at(parts, part_us, shown, now_us)))
  return shown
end

function counter.take(limit, state)
  local parts, part_us = limit.parts, limit.part_us
  local shown = shifted(parts, part_us, state, now_us)
  local since_us = now_us - shown.start_us
  local used = used_at(parts, part_us, shown, now_us)
  local retry_us = 0
  if used + limit.cost_tokens > limit.capacity_tokens and limit.cost_tokens <= limit.capacity_tokens then
    retry_us = opens_after_us(parts, part_us, shown.counts, limit.capacity_tokens - limit.cost_tokens) - since_us
  end
  local allowed = window_answer(limit, used, retry_us, empty_after_us(parts, part_us, shown.counts) - since_us, (parts + 1) * part_us - since_us)
  if limit.cost_tokens == 0 then return allowed end
  local counts = { shown.counts[1] + limit.cost_tokens }
  for i = 2, parts + 1 do counts[i] = shown.counts[i] end
  return allowed, { counts = counts, start_us = shown.start_us }
end

counter.leaving = window_leaving

function counter.full_at(limit, state) return state.start_us + (limit.parts + 1) * limit.part_us end

function counter.refunded(state, start_us, cost_tokens, part_us)
  local i = (state.start_us - start_us) / part_us + 1
  local count = state.counts[i]
  if not count then return nil end
  state.counts[i] = max(0, count - cost_tokens)
  return state
end

function counter.adjusted(limit, state, adds)
  local parts, part_us = limit.parts, limit.part_us
  local shown = shifted(parts, part_us, state, now_us)
  local counts = {}
  for i = 1, parts + 1 do counts[i] = shown.counts[i] end
  if not adds then
    counts[1] = counts[1] + takable(limit, used_at(parts, part_us, shown, now_us))
    return { counts = counts, start_us = shown.start_us }
  end
  local left = limit.cost_tokens
  for i = 1, parts do
    local given = min(left, counts[i])
    counts[i], left = counts[i] - given, left - given
  end
  if left > 0 then
    -- The largest count of which no more than so many tokens count.
    local inside_us = part_us - (now_us - shown.start_us)
    local target = max(0, weighted(counts[parts + 1], inside_us, part_us) - left)
    local most, rest = mul_div(target + 1, part_us, inside_us)
    counts[parts + 1] = min(counts[parts + 1], rest > 0 and most or most - 1)
  end
  return { counts = counts, start_us = shown.start_us }
end

function counter.missing(g, state, at_us) return used_at(g.parts, g.part_us, shifted(g.parts, g.part_us, state, at_us), at_us), 0, 1 end

function counter.state_missing(g, whole, part, _, at_us) return filled_with(used_of(g, whole, part), g, at_us) end

return counter
