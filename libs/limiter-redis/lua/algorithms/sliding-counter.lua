--[[
Counts in parts of a window, the oldest by how much of it is still inside; sliding-counter.ts does the same.
Numbers  cost, limit; besides f64 used at the start, when the limit started, parts, length of a part
Former   parts, length of a part
Text     :<newest>,...,<oldest>c behind the start of the newest part
]]
-- A state: { b = start of the newest part, counts, the newest first: one more than there are parts }.
local counter = { suffix = 'c', names = { 'parts', 'part' }, numbers = 4 }

function counter.read(cost, capacity, position)
  local start, started, parts, part
  start, started, parts, part, position = unpack_struct('<dddd', requests, position)
  return { cost = cost, capacity = capacity, start = start, started = started, lacks = start > 0, is_full_at_start = start == 0, parts = parts, part = part }, position
end

local function part_of(limit, at) return floor(at / limit.part) * limit.part end

local function filled_with(first, limit, at)
  local counts = { first }
  for i = 2, limit.parts + 1 do counts[i] = 0 end
  return { counts = counts, b = part_of(limit, at) }
end

function counter.started(limit) return filled_with(limit.start, limit, min(now, limit.started)) end

function counter.parse(instant, rest)
  local counts = {}
  for count in gmatch(rest, '%d+') do counts[#counts + 1] = tonumber(count) end
  return { counts = counts, b = instant }
end

function counter.fits(limit, state) return #state.counts == limit.parts + 1 and state.b % limit.part == 0 end

function counter.text(generation, state)
  -- Counts have ten digits at most; up to fourteen stand there as they are.
  return with_generation(generation, state.b) .. ':' .. concat(state.counts, ',') .. 'c'
end

-- The counts as of the part that holds an instant.
local function shifted(parts, part, state, at)
  local from = floor(at / part) * part
  local steps = (from - state.b) / part
  if steps <= 0 then return { counts = state.counts, b = from } end
  local counts = {}
  for i = 1, parts + 1 do counts[i] = i > steps and state.counts[i - steps] or 0 end
  return { counts = counts, b = from }
end

local function weighted(count, inside, part) return (mul_div(count, inside, part)) end

local function used_at(parts, part, state, at)
  local whole = 0
  for i = 1, parts do whole = whole + state.counts[i] end
  return whole + weighted(state.counts[parts + 1], part - (at - state.b), part)
end

local function opening(leaving, room, part)
  if leaving <= room then return 0 end
  local inside, rest = mul_div(room + 1, part, leaving)
  return part - (rest > 0 and inside or inside - 1)
end

local function opens_after(parts, part, counts, room)
  local whole = 0
  for i = 1, parts do whole = whole + counts[i] end
  for gone = 0, parts do
    if whole <= room then return gone * part + opening(counts[parts + 1 - gone], room - whole, part) end
    if gone < parts then whole = whole - counts[parts - gone] end
  end
  return (parts + 1) * part
end

local function empty_after(parts, part, counts)
  for i = 1, parts + 1 do
    if counts[i] > 0 then return (parts + 2 - i) * part end
  end
  return 0
end

function counter.clamped(limit, state)
  local parts, part = limit.parts, limit.part
  local from = part_of(limit, now)
  if state.b <= from then return state end
  local steps = (state.b - from) / part
  local counts, future = {}, 0
  for i = 1, parts + 1 do
    counts[i] = state.counts[i + steps] or 0
    if i <= steps then future = future + state.counts[i] end
  end
  local shown = { counts = counts, b = from }
  counts[1] = counts[1] + min(future, max(0, limit.capacity - used_at(parts, part, shown, now)))
  return shown
end

function counter.take(limit, state)
  local parts, part = limit.parts, limit.part
  local shown = shifted(parts, part, state, now)
  local since = now - shown.b
  local used = used_at(parts, part, shown, now)
  local retry = 0
  if used + limit.cost > limit.capacity and limit.cost <= limit.capacity then
    retry = opens_after(parts, part, shown.counts, limit.capacity - limit.cost) - since
  end
  local allowed = window_answer(limit, used, retry, empty_after(parts, part, shown.counts) - since, (parts + 1) * part - since)
  if limit.cost == 0 then return allowed end
  local counts = { shown.counts[1] + limit.cost }
  for i = 2, parts + 1 do counts[i] = shown.counts[i] end
  return allowed, { counts = counts, b = shown.b }
end

function counter.full_at(limit, state) return state.b + (limit.parts + 1) * limit.part end

function counter.refunded(state, from, cost, part)
  local i = (state.b - from) / part + 1
  local count = state.counts[i]
  if not count then return nil end
  state.counts[i] = max(0, count - cost)
  return state
end

function counter.adjusted(limit, state, adds)
  local parts, part = limit.parts, limit.part
  local shown = shifted(parts, part, state, now)
  local counts = {}
  for i = 1, parts + 1 do counts[i] = shown.counts[i] end
  if not adds then
    counts[1] = counts[1] + takable(limit, used_at(parts, part, shown, now))
    return { counts = counts, b = shown.b }
  end
  local left = limit.cost
  for i = 1, parts do
    local given = min(left, counts[i])
    counts[i], left = counts[i] - given, left - given
  end
  if left > 0 then
    -- The largest count of which no more than so many tokens count.
    local inside = part - (now - shown.b)
    local target = max(0, weighted(counts[parts + 1], inside, part) - left)
    local most, rest = mul_div(target + 1, part, inside)
    counts[parts + 1] = min(counts[parts + 1], rest > 0 and most or most - 1)
  end
  return { counts = counts, b = shown.b }
end

function counter.missing(g, state, at) return used_at(g.parts, g.part, shifted(g.parts, g.part, state, at), at), 0, 1 end

function counter.state_missing(g, whole, part, _, at) return filled_with(used_of(g, whole, part), g, at) end

return counter
