--[[
Remembers every request of the window; sliding-log.ts does the same.
Numbers  cost, limit; besides f64 used at the start, when the limit started, length of the window
Former   length, nothing
Text     packed: l, u32 generation, f64 tokens taken before the first entry, then for each entry f64 instant, f64 tokens taken until then
]]
local HEAD, ENTRY = 8, 16
-- A state: { before = tokens taken before the first entry, entries = packed }.
local log = { suffix = 'l', names = { 'window', 'nothing' }, numbers = 4 }

function log.read(cost, capacity, position)
  local start, started, window
  start, started, window, position = unpack_struct('<ddd', requests, position)
  return { cost = cost, capacity = capacity, start = start, started = started, lacks = start > 0, is_full_at_start = start == 0, window = window }, position
end

local function filled_with(used, at)
  return { before = 0, entries = used == 0 and '' or pack_struct('<dd', at, used) }
end

function log.started(limit) return filled_with(limit.start, min(now, limit.started)) end

function log.parse(body)
  if #body < HEAD or (#body - HEAD) % ENTRY ~= 0 then return nil end
  return { before = (unpack_struct('<d', body)), entries = sub(body, HEAD + 1) }
end

function log.text(generation, state)
  return 'l' .. pack_struct('<I4d', generation, state.before) .. state.entries
end

local function entry(entries, i) return unpack_struct('<dd', entries, (i - 1) * ENTRY + 1) end

function log.clamped(_, state)
  local entries = state.entries
  local count = #entries / ENTRY
  local last = count
  while last > 0 and entry(entries, last) > now do last = last - 1 end
  if last == count then return state end
  local kept = { sub(entries, 1, last * ENTRY) }
  for i = last + 1, count do
    local _, taken = entry(entries, i)
    kept[#kept + 1] = pack_struct('<dd', now, taken)
  end
  return { before = state.before, entries = concat(kept) }
end

-- The first entry that counts, how many entries there are, tokens taken in all, and before the first that counts.
local function counting(window, state, at)
  local count, first, before, total = #state.entries / ENTRY, 1, state.before, state.before
  while first <= count do
    local taken_at, taken = entry(state.entries, first)
    if taken_at > at - window then break end
    first, before = first + 1, taken
  end
  if count > 0 then
    local _
    _, total = entry(state.entries, count)
  end
  return first, count, total, before
end

function log.take(limit, state)
  local window = limit.window
  local first, count, total, before = counting(window, state, now)
  local used, retry, reset = total - before, 0, 0
  if used + limit.cost > limit.capacity then
    local last = first
    -- The entry with whose leaving there is room enough.
    while last <= count do
      local taken_at, taken = entry(state.entries, last)
      if total - taken + limit.cost <= limit.capacity then
        retry = taken_at + window - now
        break
      end
      last = last + 1
    end
  end
  if count >= first then reset = entry(state.entries, count) + window - now end
  local allowed = window_answer(limit, used, retry, reset, window)
  if limit.cost == 0 then return allowed end
  local kept = first == 1 and state.entries or sub(state.entries, (first - 1) * ENTRY + 1)
  return allowed, { before = before, entries = kept .. pack_struct('<dd', now, total + limit.cost) }
end

function log.full_at(limit, state)
  local count = #state.entries / ENTRY
  return count == 0 and 0 or entry(state.entries, count) + limit.window
end

function log.refunded(state, at, cost)
  local before, count = state.before, #state.entries / ENTRY
  for i = 1, count do
    local taken_at, taken = entry(state.entries, i)
    if taken_at == at and taken - before == cost then
      local kept = { sub(state.entries, 1, (i - 1) * ENTRY) }
      for k = i + 1, count do
        local later, taken_then = entry(state.entries, k)
        kept[#kept + 1] = pack_struct('<dd', later, taken_then - cost)
      end
      return { before = state.before, entries = concat(kept) }
    end
    before = taken
  end
  return nil
end

function log.adjusted(limit, state, adds)
  local first, count, total, before = counting(limit.window, state, now)
  local entries = sub(state.entries, (first - 1) * ENTRY + 1)
  if not adds then
    local more = takable(limit, total - before)
    return { before = before, entries = more == 0 and entries or entries .. pack_struct('<dd', now, total + more) }
  end
  -- The newest go first; one of which a part is left goes on with that.
  local left = total - limit.cost
  local last, taken_before = first, before
  while last <= count and taken_before < left do
    local taken_at, taken = entry(state.entries, last)
    if taken > left then
      local kept = sub(state.entries, (first - 1) * ENTRY + 1, (last - 1) * ENTRY)
      return { before = before, entries = kept .. pack_struct('<dd', taken_at, left) }
    end
    last, taken_before = last + 1, taken
  end
  return { before = before, entries = sub(state.entries, (first - 1) * ENTRY + 1, (last - 1) * ENTRY) }
end

function log.missing(g, state, at)
  local _, _, total, before = counting(g.window, state, at)
  return total - before, 0, 1
end

function log.state_missing(g, whole, part, _, at) return filled_with(used_of(g, whole, part), at) end

return log
