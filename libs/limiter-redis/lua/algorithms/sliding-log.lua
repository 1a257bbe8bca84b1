--[[
Remembers every request of the window; sliding-log.ts in the limiter does the same.
Take        f64 cost_tokens, capacity_tokens, start_used, started_us, window_us: the length of the window
Generation  f64 window_us
Refund      taken_at_us, cost_tokens
Reply       see windows.lua
Text        packed: l, u32 generation, f64 tokens taken before the first entry, then for each entry f64 instant, f64 tokens taken until then
]]
local HEAD, ENTRY = 8, 16
-- A state: { before, entries }: the tokens taken before the first entry, and the entries, packed.
local log = {}

function log.read(position)
  local cost_tokens, capacity_tokens, start_used, started_us, window_us
  cost_tokens, capacity_tokens, start_used, started_us, window_us, position = unpack_struct('<ddddd', requests, position)
  return {
    cost_tokens = cost_tokens, capacity_tokens = capacity_tokens, start_used = start_used, started_us = started_us, lacks = start_used > 0,
    is_full_at_start = start_used == 0, window_us = window_us,
  }, position
end

function log.read_generation(generation, position)
  generation.window_us, position = unpack_struct('<d', requests, position)
  return position
end

local function filled_with(used, at_us)
  return { before = 0, entries = used == 0 and '' or pack_struct('<dd', at_us, used) }
end

function log.started(limit) return filled_with(limit.start_used, min(now_us, limit.started_us)) end

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
  while last > 0 and entry(entries, last) > now_us do last = last - 1 end
  if last == count then return state end
  local kept = { sub(entries, 1, last * ENTRY) }
  for i = last + 1, count do
    local _, taken = entry(entries, i)
    kept[#kept + 1] = pack_struct('<dd', now_us, taken)
  end
  return { before = state.before, entries = concat(kept) }
end

-- The first entry that counts, how many entries there are, tokens taken in all, and before the first that counts.
local function counting(window_us, state, at_us)
  local count, first, before, total = #state.entries / ENTRY, 1, state.before, state.before
  while first <= count do
    local taken_at_us, taken = entry(state.entries, first)
    if taken_at_us > at_us - window_us then break end
    first, before = first + 1, taken
  end
  if count > 0 then
    local _
    _, total = entry(state.entries, count)
  end
  return first, count, total, before
end

function log.take(limit, state)
  local window_us = limit.window_us
  local first, count, total, before = counting(window_us, state, now_us)
  local used, retry_us, reset_us = total - before, 0, 0
  if used + limit.cost_tokens > limit.capacity_tokens then
    local last = first
    -- The entry with whose leaving there is room enough.
    while last <= count do
      local taken_at_us, taken = entry(state.entries, last)
      if total - taken + limit.cost_tokens <= limit.capacity_tokens then
        retry_us = taken_at_us + window_us - now_us
        break
      end
      last = last + 1
    end
  end
  if count >= first then reset_us = entry(state.entries, count) + window_us - now_us end
  local allowed = window_answer(limit, used, retry_us, reset_us, window_us)
  if limit.cost_tokens == 0 then return allowed end
  local kept = first == 1 and state.entries or sub(state.entries, (first - 1) * ENTRY + 1)
  return allowed, { before = before, entries = kept .. pack_struct('<dd', now_us, total + limit.cost_tokens) }
end

log.leaving = window_leaving

function log.full_at(limit, state)
  local count = #state.entries / ENTRY
  return count == 0 and 0 or entry(state.entries, count) + limit.window_us
end

function log.refunded(state, at_us, cost_tokens)
  local before, count = state.before, #state.entries / ENTRY
  for i = 1, count do
    local taken_at_us, taken = entry(state.entries, i)
    if taken_at_us == at_us and taken - before == cost_tokens then
      local kept = { sub(state.entries, 1, (i - 1) * ENTRY) }
      for k = i + 1, count do
        local later, taken_then = entry(state.entries, k)
        kept[#kept + 1] = pack_struct('<dd', later, taken_then - cost_tokens)
      end
      return { before = state.before, entries = concat(kept) }
    end
    before = taken
  end
  return nil
end

function log.adjusted(limit, state, adds)
  local first, count, total, before = counting(limit.window_us, state, now_us)
  local entries = sub(state.entries, (first - 1) * ENTRY + 1)
  if not adds then
    local more = takable(limit, total - before)
    return { before = before, entries = more == 0 and entries or entries .. pack_struct('<dd', now_us, total + more) }
  end
  -- The newest go first; one of which a part is left goes on with that.
  local left = total - limit.cost_tokens
  local last, taken_before = first, before
  while last <= count and taken_before < left do
    local taken_at_us, taken = entry(state.entries, last)
    if taken > left then
      local kept = sub(state.entries, (first - 1) * ENTRY + 1, (last - 1) * ENTRY)
      return { before = before, entries = kept .. pack_struct('<dd', taken_at_us, left) }
    end
    last, taken_before = last + 1, taken
  end
  return { before = before, entries = sub(state.entries, (first - 1) * ENTRY + 1, (last - 1) * ENTRY) }
end

function log.missing(g, state, at_us)
  local _, _, total, before = counting(g.window_us, state, at_us)
  return total - before, 0, 1
end

function log.state_missing(g, whole, part, _, at_us) return filled_with(used_of(g, whole, part), at_us) end

return log
