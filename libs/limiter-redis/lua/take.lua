--[[
Purpose    Refills and takes for many requests in one call.
Guarantee  Each request takes from all of its buckets or from none, in the order given, as if it were alone. A refused
           request writes nothing, but for penalties, which count refusals. A missing bucket is one left alone since its limit started, so a bucket may expire
           when it is full. One clock for all who share a bucket: this server's.

KEYS  the buckets, each once
ARGV  1  now in microseconds, '' for TIME (tests bring their own clock)
      2  the buckets asked, packed little-endian, one after the other:
           u8  kind: 0 greedy, 1 greedy with fractions of a microsecond, 2 interval, 3 fixed window, 4 sliding counter,
               5 sliding log, 6 concurrency, 7 queue, 8 penalty; +16 if it has no say where it refuses, +32 with former numbers after it, +64 if the next bucket belongs to
               the same request
           u16 index of its key in KEYS, from 1        u16 generation, modulo 1000
           f64 cost or price, capacity or limit, start; then what the kind needs: see its file in algorithms/
           former  u8 number of generations, the oldest first and the present one last, for each
                   u16 generation, u8 kind, u8 onEdit, f64 capacity or limit, two numbers of the kind, start of the
                   generation, start of the window around it and around the start of the next
Reply  for each bucket asked what it held before, in one number or more: see its file. Whoever sent the request knows the rest.
       STALE in place of a request's first number: a bucket was written under numbers newer than the request's; nothing taken.
       Last of all, what time it is here, in microseconds; negative if Redis is full, and none of the call was written.
How a state is written: see buckets.lua.
]]
local STALE = -9000000000000000
local DIGITS = 16
-- A bucket lives to the end of the epoch in which it will be full, and some more in case the clock steps back. So its
-- time to live is set anew only when that epoch is another one, which is a third of the cost of writing.
local EPOCH_US = 64000000
local SLACK_US = 30000000

local call, unpack_struct, format = redis.call, struct.unpack, string.format

--# include clock.lua

local requests = ARGV[2]
local stored = call('MGET', unpack(KEYS))
-- Greedy buckets without a part and of generation 0 are kept as numbers until the end of the call; others as strings, in
-- `stored`. `changed` has those numbers that must be written, with what they were at first, or -1 if there was no bucket.
local instants, changed = {}, {}
-- For the others that were written: when they will be full, and when they would have been, or -1 if that is not known.
local full_at, full_before = {}, {}
local reply, replies = {}, 0

-- Where the machine's integers have 64 bits, as on every real Redis, this is the faster format.
local WHOLE = format('%d', 1e15) == '1000000000000000' and '%d' or '%.0f'

-- Seconds to live for a bucket that is full at an instant.
local function life(instant)
  return format('%.0f', (instant - instant % EPOCH_US + EPOCH_US + SLACK_US - now) / 1000000 + 0.5)
end

-- A request of any kinds, from its position on; returns the position of the next one.
local general

local function make_general()
  -- The numbers of a reply, as many as the kind has.
  local function answer(a, b, c, d)
    reply[replies + 1], reply[replies + 2], reply[replies + 3], reply[replies + 4] = a, b, c, d
    replies = replies + (d and 4 or b and 2 or 1)
  end

  --# include buckets.lua

  -- As carry-over.ts: the same operations in the same order.
  local function kept_tokens(on_edit, available, capacity, new_capacity)
    if on_edit == 1 then return min((available * new_capacity) / capacity, new_capacity) end
    if on_edit == 2 then return new_capacity end
    if on_edit == 3 then return min(min(available, new_capacity) + max(0, new_capacity - capacity), new_capacity) end
    return min(available, new_capacity)
  end

  -- A bucket written under other numbers: carried over each later edit at its time. nil if the edit is not known here.
  local function carried_over(generation, history, state)
    local from
    for i = 1, #history - 1 do
      if history[i].generation == generation then
        from = i
        break
      end
    end
    if not from then
      local present = history[#history]
      if (generation - present.generation) % 1000 < 500 then return nil end
      return ALGORITHMS[present.kind].state_with(present, 0, now)
    end
    for i = from, #history - 1 do
      local g, successor = history[i], history[i + 1]
      if not (g.kind == successor.kind and ALGORITHMS[g.kind].keeps_state) then
        local at = min(successor.started, now)
        local available = ALGORITHMS[g.kind].available(g, state, at)
        state = ALGORITHMS[successor.kind].state_with(successor, kept_tokens(successor.on_edit, available, g.capacity, successor.capacity), at)
      end
    end
    return state
  end

  local function read_history(position)
    local count
    count, position = unpack_struct('<B', requests, position)
    local history = {}
    for h = 1, count do
      local g = {}
      g.generation, g.kind, g.on_edit, g.capacity, g.first, g.second, g.started, g.window, g.next_window, position =
        unpack_struct('<HBBdddddd', requests, position)
      history[h] = g
    end
    return history, position
  end

  -- What is written if the request passes, and if it does not, six for each bucket: index, generation, algorithm, state, when it
  -- will be full and when it would have been. Lists that are used again for each request; `n` says how far.
  local if_passed, if_refused = { n = 0 }, { n = 0 }

  return function(position)
    local passes, stale, more = true, false, true
    local first_reply = replies + 1
    if_passed.n, if_refused.n = 0, 0
    local asked, last_refusal = 0, -math.huge
    while more do
      local kind, index, generation, cost, capacity, start, limit
      kind, index, generation, cost, capacity, start, position = unpack_struct('<BHHddd', requests, position)
      more = kind >= 64
      if more then kind = kind - 64 end
      local has_history = kind >= 32
      if has_history then kind = kind - 32 end
      local stands_aside = kind >= 16
      if stands_aside then kind = kind - 16 end
      local algorithm = ALGORITHMS[kind]
      limit, position = algorithm.read(cost, capacity, start, position)
      local history
      if has_history then history, position = read_history(position) end

      local held = instants[index]
      if held then
        stored[index], instants[index] = format('%.0f', held), nil
        if changed[index] then
          full_at[index], full_before[index], changed[index] = held, changed[index], nil
        end
      end
      local state, written
      if stored[index] then state, written = parse(stored[index]) end
      if not state then
        -- What is no bucket of ours is treated as missing, and overwritten by the next take.
        state = algorithm.started(limit)
      elseif written ~= generation then
        if history then
          state = carried_over(written, history, state)
        elseif (written - generation) % 1000 < 500 then
          state = nil
        else -- older than all that is known: counts as empty
          state = algorithm.empty(limit)
        end
        if not state then stale = true end
      end

      if stale then
        for _ = 1, algorithm.numbers do answer(0) end
      else
        asked = asked + 1
        local allowed, after, filled, filled_before = algorithm.take(limit, state, asked - last_refusal)
        if not allowed then
          if stands_aside then
            after = nil
          else
            passes, last_refusal = false, asked
          end
        end
        if after then
          local list = algorithm.remembers_refusals and if_refused or if_passed
          local n = list.n
          list[n + 1], list[n + 2], list[n + 3], list[n + 4], list[n + 5] = index, generation, algorithm, after, filled
          list[n + 6] = written == generation and filled_before or -1
          list.n = n + 6
        end
      end
    end

    if stale then
      reply[first_reply] = STALE
    else
      local list = passes and if_passed or if_refused
      for i = 1, list.n, 6 do
        local index = list[i]
        stored[index] = list[i + 2].text(list[i + 1], list[i + 3], with_generation)
        full_at[index] = max(now, list[i + 4])
        full_before[index] = full_before[index] or list[i + 5]
      end
    end
    return position
  end
end

local position, length = 1, #requests
while position <= length do
  local kind, index, generation, price, full, start, after = unpack_struct('<BHHddd', requests, position)
  local instant, first
  -- The usual bucket takes a short way, the others the general one.
  if kind == 0 and generation == 0 then
    instant = instants[index]
    if instant then
      first = changed[index] or instant
    else
      local value = stored[index]
      if not value then
        instant, first = start, -1
      elseif #value <= DIGITS then
        instant = tonumber(value)
        first = instant
      end
    end
  end
  if instant and instant >= 0 then
    local debt = instant - now
    if debt < 0 then debt = 0 elseif debt > full then debt = full end
    replies = replies + 1
    reply[replies] = debt
    debt = debt + price
    if debt <= full and price > 0 then
      instants[index], changed[index] = debt + now, first
    elseif stored[index] then
      instants[index] = instant
    end
    position = after
  else
    if not general then general = make_general() end
    position = general(position)
  end
end

local writes = 0
local function write(index, value, instant, before)
  if instant - instant % EPOCH_US == before - before % EPOCH_US then
    call('SET', KEYS[index], value, 'KEEPTTL')
  else
    call('SET', KEYS[index], value, 'EX', life(instant))
  end
  writes = writes + 1
end

local function write_all()
  for index, instant in pairs(full_at) do write(index, stored[index], instant, full_before[index]) end
  -- Last: a bucket that is in both tables was changed as a number after it was written as a string.
  for index, before in pairs(changed) do write(index, format(WHOLE, instants[index]), instants[index], before) end
end

-- A full Redis refuses the first write of a script, and lets one that has written finish: it is all or nothing. Refusals are
-- worth an answer even then. Any other error is returned as it came, so that its code stays in front.
local done, failure = pcall(write_all)
if not done then
  if type(failure) == 'table' then failure = failure.err end
  if writes > 0 or not string.find(failure, 'OOM', 1, true) then return { err = failure } end
  now = -now
end
reply[replies + 1] = now
return reply
