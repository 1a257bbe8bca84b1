--[[
Purpose    Refills and takes for many requests in one call.
Guarantee  Each request takes from all of its buckets or from none, in the order given, as if it were alone. A refused
           request writes nothing. A missing bucket is one left alone since its limit started, so a bucket may expire
           when it is full. One clock for all who share a bucket: this server's.

KEYS  the buckets, each once
ARGV  1  now in microseconds, '' for TIME (tests bring their own clock)
      2  the buckets asked, packed little-endian, one after the other:
           u8  kind: 0 greedy, 1 greedy with fractions of a microsecond, 2 interval;
               +32 with former numbers after it, +64 if the next bucket belongs to the same request
           u16 index of its key in KEYS, from 1        u16 generation, modulo 1000
           kind 0  f64 price, full, start              microseconds; start is a state
           kind 1  f64 price, full, start, n, price part, full part, start part, surplus
           kind 2  f64 cost, capacity, start tokens, refill, interval, start step
           former  u8 number of generations, the oldest first and the present one last, for each
                   u16 generation, u8 1 if interval, f64 capacity, n or refill, interval, start of the generation
Reply  for each bucket asked what it held before: the debt in microseconds (kind 0), the debt and its part (kind 1),
       tokens and microseconds since the last step (kind 2). Whoever sent the request knows the rest.
       STALE in place of a request's first number: a bucket was written under numbers newer than the request's; nothing taken.

A state is a string: <generation><instant> greedy, <generation><instant>.<part>f greedy with a part,
<generation><step>:<tokens>i interval. The instant in microseconds has sixteen digits; where the generation is 0 it is left
out, and so are leading zeros. The first form is the usual one, and Redis keeps it as an integer: it costs no string.
]]
local STALE = -9000000000000000
local DIGITS = 16
-- A bucket lives to the end of the epoch in which it will be full, and some more in case the clock steps back. So its
-- time to live is set anew only when that epoch is another one, which is a third of the cost of writing.
local EPOCH_US = 64000000
local SLACK_US = 30000000

local call, unpack_struct, format = redis.call, struct.unpack, string.format

local now
if ARGV[1] == '' then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
else
  now = tonumber(ARGV[1])
end

local requests = ARGV[2]
local stored = call('MGET', unpack(KEYS))
-- Greedy buckets without a part and of generation 0 are kept as numbers until the end of the call; others as strings, in
-- `stored`. `changed` has those numbers that must be written, with what they were at first, or -1 if there was no bucket.
local instants, changed = {}, {}
-- For the others that were written: when they will be full.
local full_at = {}
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
  local sub, match, floor, ceil, min, max = string.sub, string.match, math.floor, math.ceil, math.min, math.max

  -- instant, generation, whether of an interval bucket, the second number; nil if it is no bucket of ours
  local function parse(value)
    local sign, digits, rest, suffix = match(value, '^(%-?)(%d+)[%.:]?(%d*)([fi]?)$')
    if not sign then return nil end
    local instant = tonumber(sub(digits, -DIGITS))
    return sign == '-' and -instant or instant, tonumber(sub(digits, 1, -DIGITS - 1)) or 0, suffix == 'i', tonumber(rest) or 0
  end

  local function serialized(kind, generation, instant, second)
    local head
    if generation == 0 then
      head = format('%.0f', instant)
    elseif instant < 0 then
      head = format('-%d%016.0f', generation, -instant)
    else
      head = format('%d%016.0f', generation, instant)
    end
    if kind == 2 then return format('%s:%.0fi', head, second) end
    if second == 0 then return head end
    return format('%s.%.0ff', head, second)
  end

  -- Tokens with their fraction at an instant; see carry-over.ts, which does the same operations in the same order.
  local function tokens_at(g, a, b, at)
    if g.interval then
      local elapsed = at - b
      if elapsed < 0 then return a end
      local steps = floor(elapsed / g.every)
      if steps == 0 then return a end
      return min(g.capacity, a + steps * g.n)
    end
    local debt, part = 0, 0
    if a < 0 then
      debt = min(0, a + at)
      if a + at < 0 then part = b end
    else
      debt = max(0, a - at)
      if a >= at then part = b end
    end
    return g.capacity - ((debt + part / g.n) * g.n) / g.every
  end

  local function state_with(g, tokens, at)
    if g.interval then return floor(tokens), at end
    return at + max(0, ceil(((g.capacity - tokens) * g.every) / g.n)), 0
  end

  -- A bucket written under other numbers: carried over each later edit at its time. nil if the edit is not known here.
  local function carried_over(generation, history, a, b)
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
      return state_with(present, 0, now)
    end
    for i = from, #history - 1 do
      local successor = history[i + 1]
      local at = min(successor.started, now)
      a, b = state_with(successor, min(tokens_at(history[i], a, b, at), successor.capacity), at)
    end
    return a, b
  end

  local function read_history(position)
    local count
    count, position = unpack_struct('<B', requests, position)
    local history = {}
    for h = 1, count do
      local g = {}
      local interval
      g.generation, interval, g.capacity, g.n, g.every, g.started, position = unpack_struct('<HBdddd', requests, position)
      g.interval = interval == 1
      history[h] = g
    end
    return history, position
  end

  return function(position)
    local passes, stale, more = true, false, true
    local first_reply = replies + 1
    local writes = {}
    while more do
      local kind, index, generation, price, full, start
      local n, price_part, full_part, surplus, refill, every, start_b = 1, 0, 0, 0, nil, nil, 0
      kind, index, generation, price, full, start, position = unpack_struct('<BHHddd', requests, position)
      more = kind >= 64
      if more then kind = kind - 64 end
      local has_history = kind >= 32
      if has_history then kind = kind - 32 end
      if kind == 1 then
        n, price_part, full_part, start_b, surplus, position = unpack_struct('<ddddd', requests, position)
      elseif kind == 2 then
        refill, every, start_b, position = unpack_struct('<ddd', requests, position)
      end
      local history
      if has_history then history, position = read_history(position) end

      -- What is stored: (instant, part) of a greedy bucket, (tokens, step) of an interval bucket.
      local held = instants[index]
      if held then
        stored[index], instants[index] = format('%.0f', held), nil
        if changed[index] then
          changed[index], full_at[index] = nil, held
        end
      end
      local a, b = start, start_b
      local value = stored[index]
      local instant, written, is_interval, second
      if value then instant, written, is_interval, second = parse(value) end
      -- What is no bucket of ours is treated as missing, and overwritten by the next take.
      if instant then
        a, b = instant, second
        if is_interval then a, b = second, instant end
        if written ~= generation then
          if history then
            a, b = carried_over(written, history, a, b)
          elseif (written - generation) % 1000 < 500 then
            a = nil
          elseif kind == 2 then -- older than all that is known: counts as empty
            a, b = 0, now
          else
            a, b = now + full, full_part
          end
          if not a then stale = true end
        end
      end

      replies = replies + 1
      if stale then
        reply[replies] = 0
        if kind > 0 then
          replies = replies + 1
          reply[replies] = 0
        end
      elseif kind == 2 then
        local elapsed = now - b
        if elapsed < 0 then elapsed = 0 end
        local steps = floor(elapsed / every)
        if steps > 0 then
          a = min(full, a + steps * refill)
          elapsed = elapsed - steps * every
        end
        reply[replies], reply[replies + 1] = a, elapsed
        replies = replies + 1
        if price > a then passes = false end
        local filled = now + ceil((full - (a - price)) / refill) * every - elapsed
        if start > full then filled = max(filled, start_b + every) end
        if price > 0 then writes[#writes + 1] = { index, kind, generation, now - elapsed, a - price, filled } end
      else
        -- `debt` and `b`: what is missing from the bucket, in time
        local debt
        if a < 0 then
          debt = a + now
          if debt >= 0 then debt, b = 0, 0 elseif debt < surplus then debt, b = surplus, 0 end
        else
          debt = a - now
          if debt < 0 then debt, b = 0, 0
          elseif debt > full or (debt == full and b > full_part) then debt, b = full, full_part end
        end
        reply[replies] = debt
        if kind == 1 then
          replies = replies + 1
          reply[replies] = b
        end
        debt = debt + price
        b = b + price_part
        if b >= n then debt, b = debt + 1, b - n end
        if debt > full or (debt == full and b > full_part) then passes = false end
        local filled = now + debt + 1
        if start < 0 then filled = max(filled, -start) end
        if price > 0 or price_part > 0 then
          writes[#writes + 1] = { index, kind, generation, debt < 0 and debt - now or debt + now, b, filled }
        end
      end
    end

    if stale then
      reply[first_reply] = STALE
    elseif passes then
      for i = 1, #writes do
        local write = writes[i]
        local index = write[1]
        stored[index] = serialized(write[2], write[3], write[4], write[5])
        full_at[index] = max(now, write[6])
      end
    end
    return position
  end
end

local position, length = 1, #requests
while position <= length do
  local kind, index, generation, price, full, start, after = unpack_struct('<BHHddd', requests, position)
  local instant, first
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

for index, instant in pairs(full_at) do
  call('SET', KEYS[index], stored[index], 'EX', life(instant))
end
-- Last: a bucket that is in both tables was changed as a number after it was written as a string.
for index, before in pairs(changed) do
  local instant = instants[index]
  if instant - instant % EPOCH_US == before - before % EPOCH_US then
    call('SET', KEYS[index], format(WHOLE, instant), 'KEEPTTL')
  else
    call('SET', KEYS[index], format(WHOLE, instant), 'EX', life(instant))
  end
end
return reply
