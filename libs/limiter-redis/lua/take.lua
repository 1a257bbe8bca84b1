--[[
Purpose    Refills and takes for many requests in one call.
Guarantee  Each request takes from all of its buckets or from none, in the order given, as if it were alone. A refused
           request writes nothing but refusals that a penalty counts, and what had to be mended: a state from the future after the clock
           stepped back, or one of former numbers. A missing bucket is one left alone since its limit started, so a bucket may
           expire when it is full. One clock for all who share a bucket: this server's.

KEYS  the buckets, each once
ARGV  1  now in microseconds, '' for TIME (tests bring their own clock)
      2  the buckets asked, packed little-endian, one after the other:
           u8  kind: 0 greedy, 1 greedy with fractions of a microsecond, 2 interval, 3 fixed window, 4 sliding counter,
               5 sliding log, 6 concurrency, 7 queue, 8 penalty; +16 if it has no say where it refuses, +32 if there are former numbers, +64 if
               the next bucket belongs to the same request, +128 if the former numbers follow
           u16 index of its key in KEYS, from 1        u32 generation
           f64 cost or price, capacity or time to full; then what the kind needs: see its file in algorithms/
           former  u8 number of generations, the oldest first and the present one last, for each
                   u32 generation, u8 kind, u8 onEdit, f64 capacity or limit, when it came into force, two numbers of the kind: see its file
Reply  for each bucket asked what it held before, in one number or more: see its file. Whoever sent the request knows the rest.
       In place of a request's first number, nothing being taken: STALE, a bucket was written under numbers newer than the request's;
       AGAIN, a bucket was written under former numbers that were not sent, or the windows that were sent are not those of now.
       In place of a bucket's first number: BLOCKED, less the microseconds for which an operator's block goes on; the others are 0 then.
       Last of all, what time it is here, in microseconds; negative if Redis is full, and none of the call was written.
How a state is written: see buckets.lua.
]]
local DIGITS = 16
local UNTOUCHED = '-' -- see buckets.lua
local call, unpack_struct, format = redis.call, struct.unpack, string.format

--# include clock.lua
--# include life.lua

local requests = ARGV[2]
local stored = call('MGET', unpack(KEYS))
-- Greedy buckets without a part and of generation 0 are kept as numbers until the end of the call; others as strings, in
-- `stored`. `changed` has those numbers that must be written, with what they were at first, or -1 if there was no bucket.
local instants, changed = {}, {}
-- For the others that were written: when they will be full (and a block is over), and when they would have been, or -1 if that is not known.
local full_at, full_before = {}, {}
local reply, replies = {}, 0

-- Where the machine's integers have 64 bits, as on every real Redis, this is the faster format.
local WHOLE = format('%d', 1e15) == '1000000000000000' and '%d' or '%.0f'

-- A request of any kinds, from its position on; returns the position of the next one.
local general

local function make_general()
  -- The windows that were sent are not those of now.
  local wants_again = false
  local function ask_again() wants_again = true end

  -- The numbers of a reply, as many as the kind has.
  local function answer(a, b, c, d)
    reply[replies + 1], reply[replies + 2], reply[replies + 3], reply[replies + 4] = a, b, c, d
    replies = replies + (d and 4 or b and 2 or 1)
  end

  --# include buckets.lua

  --# include carry-over.lua

  --# include look-up.lua

  -- What stands there as a string.
  local function stored_text(index)
    local held = instants[index]
    if held then
      stored[index], instants[index] = format('%.0f', held), nil
      if changed[index] then
        full_at[index], full_before[index], changed[index] = held, changed[index], nil
      end
    end
    return stored[index]
  end

  -- What is written of a request: in any case, if it passes, and if it does not. Three for each bucket: bucket, state, and when it would
  -- have been full. Lists that are used again for each request; `n` says how far.
  local mended, if_passed, if_refused = { n = 0 }, { n = 0 }, { n = 0 }

  local function note(list, bucket, state, before)
    local n = list.n
    list[n + 1], list[n + 2], list[n + 3] = bucket, state, before
    list.n = n + 3
  end

  local function keep(list)
    for i = 1, list.n, 3 do
      local bucket, state = list[i], list[i + 1]
      local index = bucket.index
      stored[index], full_at[index] = as_written(bucket, state)
      full_before[index] = full_before[index] or list[i + 2]
    end
  end

  return function(position)
    local passes, more, problem = true, true, nil
    local first_reply = replies + 1
    local asked, last_refusal, last_block = 0, -math.huge, -math.huge
    mended.n, if_passed.n, if_refused.n, wants_again = 0, 0, 0, false
    while more do
      local bucket
      bucket, position = read_bucket(position)
      more = bucket.more
      local algorithm = bucket.algorithm
      local state, must_write, before
      if not problem and not wants_again then state, must_write, before = look_up(bucket, stored_text(bucket.index)) end
      if wants_again then state = AGAIN end
      if state == STALE or state == AGAIN then problem = state end
      if problem then
        for _ = 1, algorithm.numbers do answer(0) end
      else
        if must_write then note(mended, bucket, state, before) end
        asked = asked + 1
        local allowed, after = false, nil
        if bucket.block then
          answer(BLOCKED - (bucket.block.till - now))
          for _ = 2, algorithm.numbers do answer(0) end
          last_block = asked
        else
          allowed, after = algorithm.take(bucket.limit, state, asked - last_refusal, asked - last_block)
        end
        if not allowed then
          if bucket.has_no_say and not bucket.block then
            after = nil
          else
            passes, last_refusal = false, asked
          end
        end
        if after then
          local list = algorithm.remembers_refusals and if_refused or if_passed
          -- What was refused before is written whatever becomes of this request, which is none.
          note(bucket.limit.told and mended or list, bucket, after, before)
        end
      end
    end

    if problem then
      reply[first_reply] = problem
    else
      keep(mended)
      keep(passes and if_passed or if_refused)
    end
    return position
  end
end

local position, length = 1, #requests
while position <= length do
  local kind, index, generation, price, full, after = unpack_struct('<BHI4dd', requests, position)
  local instant, first
  -- The usual bucket takes a short way, the others the general one.
  if kind == 0 and generation == 0 then
    instant = instants[index]
    if instant then
      first = changed[index] or instant
    else
      local value = stored[index]
      if not value then
        instant, first = 0, -1
      elseif #value <= DIGITS then
        instant = value == UNTOUCHED and 0 or tonumber(value)
        first = instant
      end
    end
  end
  if instant and instant >= 0 then
    local debt = instant - now
    if debt < 0 then
      debt = 0
    elseif debt > full then
      -- From the future, because the clock stepped back: empty from now on.
      debt, instant = full, now + full
      instants[index], changed[index], first = instant, -1, -1
    end
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
