--[[
Purpose    Refills and takes for many requests in one call.
Guarantee  Each request takes from all of its buckets or from none, in the order given, as if it were alone. A refused
           request writes nothing. A missing bucket is one left alone since its limit started, so a bucket may expire
           when it is full. One clock for all who share a bucket: this server's.

KEYS  the buckets, each once
ARGV  1  now in microseconds, '' for TIME (tests bring their own clock)
      2  the requests, packed little-endian, one after the other:
           u8  number of buckets asked, then for each of them
           u8  kind: 0 greedy, 1 greedy with fractions of a microsecond, 2 interval; +8 with former numbers after it
           u16 index of its key in KEYS, from 1        u16 generation, modulo 1000
           kind 0  f64 price, full, start              microseconds; start is a state
           kind 1  f64 price, full, start, n, price part, full part, start part, surplus
           kind 2  f64 cost, capacity, refill, interval, start tokens, start step
           former  u8 number of generations, the oldest first and the present one last, for each
                   u16 generation, u8 1 if interval, f64 capacity, n or refill, interval, start of the generation
Reply  for each bucket asked what it held before: the debt in microseconds (kind 0), the debt and its part (kind 1),
       tokens and microseconds since the last step (kind 2). Whoever sent the request knows the rest.
       STALE in place of a first number: the bucket was written under numbers newer than the request's; nothing taken.

A state is a string: <instant><generation> greedy, <instant><generation>.<part>f greedy with a part,
<step><generation>:<tokens>i interval; the instant in microseconds, the generation in three digits. The first is the
usual one, and Redis keeps it as an integer: it costs no string.
]]
local STALE = -9000000000000000
local SLACK_MS = 30000 -- a bucket outlives its time to full, in case the clock steps back

local call, unpack_struct = redis.call, struct.unpack
local sub, format, floor, ceil, min, max = string.sub, string.format, math.floor, math.ceil, math.min, math.max

local now
if ARGV[1] == '' then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
else
  now = tonumber(ARGV[1])
end

local requests = ARGV[2]
local stored = call('MGET', unpack(KEYS))
local dirty, ttl_ms, is_interval = {}, {}, {}
-- Numbers of a bucket already read in this call, valid for the generation in `known`.
local known, first, second = {}, {}, {}

-- instant, generation, whether of an interval bucket, the second number; nil if it is no bucket of ours
local function parse(value)
  local head, rest, suffix = string.match(value, '^(%-?%d%d%d%d+)[%.:]?(%d*)([fi]?)$')
  if not head then return nil end
  return tonumber(sub(head, 1, -4)), tonumber(sub(head, -3)), suffix == 'i', tonumber(rest) or 0
end

local function serialized(index)
  local generation = known[index]
  if is_interval[index] then
    return format('%.0f%03d:%.0fi', second[index], generation, first[index])
  elseif second[index] == 0 then
    return format('%.0f%03d', first[index], generation)
  end
  return format('%.0f%03d.%.0ff', first[index], generation, second[index])
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

local reply, replies = {}, 0
local position, length = 1, #requests
-- Of the request at hand, for each bucket it asks; used again for the next one.
local indexes, kinds, generations, prices, after_a, after_b, lives = {}, {}, {}, {}, {}, {}, {}

while position <= length do
  local asked
  asked, position = unpack_struct('<B', requests, position)
  local passes, stale, reply_start = true, false, replies

  for i = 1, asked do
    local kind, index, generation, price, full, start
    local n, price_part, full_part, surplus, refill, every = 1, 0, 0, 0, nil, nil
    local a, b = nil, 0
    local start_b = 0
    kind, index, generation, price, full, start, position = unpack_struct('<BHHddd', requests, position)
    local has_history = kind >= 8
    if has_history then kind = kind - 8 end
    if kind == 1 then
      n, price_part, full_part, start_b, surplus, position = unpack_struct('<ddddd', requests, position)
    elseif kind == 2 then
      refill = start
      every, start, start_b, position = unpack_struct('<ddd', requests, position)
    end
    local history
    if has_history then
      local count
      count, position = unpack_struct('<B', requests, position)
      history = {}
      for h = 1, count do
        local g = {}
        local interval
        g.generation, interval, g.capacity, g.n, g.every, g.started, position =
          unpack_struct('<HBdddd', requests, position)
        g.interval = interval == 1
        history[h] = g
      end
    end

    if known[index] == generation then
      a, b = first[index], second[index]
    else
      if known[index] then stored[index] = serialized(index) end
      local value = stored[index]
      if not value then
        a, b = start, start_b
      elseif kind == 0 and tonumber(sub(value, -3)) == generation then
        a = tonumber(sub(value, 1, -4))
      else
        local written, interval, rest
        a, written, interval, rest = parse(value)
        b = rest or 0
        if interval then a, b = b, a end
        if not a then
          a, b = start, start_b -- not a bucket of ours: treated as missing, overwritten by the next take
        elseif written ~= generation then
          history = history or { { generation = generation } }
          if #history == 1 and (written - generation) % 1000 >= 500 then
            -- older than all that is known: counts as empty
            if kind == 2 then a, b = 0, now else a, b = now + full, full_part end
          else
            a, b = carried_over(written, history, a, b)
            if not a then stale = true end
          end
        end
      end
    end

    indexes[i], kinds[i], generations[i], prices[i] = index, kind, generation, price
    if stale then
      replies = replies + 1
      reply[replies] = STALE
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
      reply[replies + 1], reply[replies + 2] = a, elapsed
      replies = replies + 2
      if price > a then passes = false end
      after_a[i], after_b[i] = a - price, now - elapsed
      lives[i] = ceil((full - after_a[i]) / refill) * every - elapsed
      if start > full then lives[i] = max(lives[i], start_b + every - now) end
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
      replies = replies + 1
      reply[replies] = debt
      if kind == 1 then
        replies = replies + 1
        reply[replies] = b
      end
      debt = debt + price
      if kind == 1 then
        b = b + price_part
        if b >= n then debt, b = debt + 1, b - n end
      end
      if debt > full or (debt == full and b > full_part) then passes = false end
      lives[i] = debt + 1
      if start < 0 then lives[i] = max(lives[i], -start - now) end
      if debt < 0 then after_a[i] = debt - now else after_a[i] = debt + now end
      after_b[i] = b
    end
  end

  if stale then
    reply[reply_start + 1] = STALE
  elseif passes then
    for i = 1, asked do
      if prices[i] > 0 then
        local index = indexes[i]
        known[index], first[index], second[index] = generations[i], after_a[i], after_b[i]
        dirty[index], is_interval[index] = true, kinds[i] == 2
        ttl_ms[index] = ceil(max(lives[i], 0) / 1000) + SLACK_MS
      end
    end
  end
end

for index in pairs(dirty) do
  call('SET', KEYS[index], serialized(index), 'PX', format('%.0f', ttl_ms[index]))
end
return reply
