--[[
Remembers every request of the window; sliding-log.ts does the same.
Numbers  cost, limit, used at the start; besides f64 start, length of the window
Text     packed: L, u16 generation, f64 tokens taken before the first entry, then for each entry f64 instant, f64 tokens taken until then
]]
do
  local HEAD, ENTRY = 11, 16
  -- A state: { before = tokens taken before the first entry, entries = packed }.
  local log = { numbers = 4 }

  function log.read(cost, capacity, start, position)
    local start_at, window
    start_at, window, position = unpack_struct('<dd', requests, position)
    return { cost = cost, capacity = capacity, start = start, start_at = start_at, window = window }, position
  end

  local function filled_with(used, at)
    return { before = 0, entries = used == 0 and '' or pack_struct('<dd', at, used) }
  end

  function log.started(limit) return filled_with(limit.start, limit.start_at) end

  function log.empty(limit) return filled_with(limit.capacity, now) end

  function log.parse(value)
    if #value < HEAD or (#value - HEAD) % ENTRY ~= 0 then return nil end
    local generation, before = unpack_struct('<Hd', value, 2)
    return { before = before, entries = sub(value, HEAD + 1) }, generation
  end

  function log.text(generation, state)
    return 'L' .. pack_struct('<Hd', generation, state.before) .. state.entries
  end

  local function entry(entries, i) return unpack_struct('<dd', entries, (i - 1) * ENTRY + 1) end

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
    local used, retry, reset, latest, filled_before = total - before, 0, 0, now, -1
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
    if count >= first then
      latest = entry(state.entries, count)
      filled_before = latest + window
      reset = filled_before - now
      latest = max(latest, now)
    end
    local allowed = window_answer(limit, used, retry, reset, latest + window - now)
    if limit.cost == 0 then return allowed end
    local kept = first == 1 and state.entries or sub(state.entries, (first - 1) * ENTRY + 1)
    return allowed, { before = before, entries = kept .. pack_struct('<dd', latest, total + limit.cost) }, latest + window, filled_before
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

  -- first: length of the window
  function log.available(g, state, at)
    local _, _, total, before = counting(g.first, state, at)
    return g.capacity - (total - before)
  end

  function log.state_with(g, tokens, at) return filled_with(max(0, g.capacity - floor(tokens)), at) end

  ALGORITHMS[5] = log
end
