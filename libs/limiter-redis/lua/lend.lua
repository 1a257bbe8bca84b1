--[[
Purpose    Lends tokens of buckets to gateways, and hears what became of those lent before, for many leases in one call.
Guarantee  Each word about a lease is one step, in the order given, as if it were alone. What is lent is missing from its bucket and goes on
           occupying it: see leases.lua. A word that is not above the last one of its lessee that was carried out changes nothing. A bucket
           lives until it is full and its leases are over. Written is all or nothing: a full Redis lends nothing.

KEYS  the buckets, each once
ARGV  1  now in microseconds, '' for TIME
      2  the bucket of each word, packed as a request of cost 1 in take.lua, with its present numbers behind its former ones
      3  the words in the same order, packed little-endian:
           u32 lessee     f64 sequence, holds_tokens, gives_back_tokens, overspent_tokens, wants_tokens, for_us
Reply  for each word: kept_tokens, granted_tokens, charged_tokens, for_us: until the lease ends, lent_elsewhere_tokens; then what the bucket holds after it, as in take.lua.
       In place of the first number, nothing being done: STALE or AGAIN, as in take.lua. In place of the first number of what it holds: BLOCKED, as there.
       Last of all, what time it is here, in microseconds; negative if Redis is full, and none of the call was written.
]]
local call, unpack_struct, format = redis.call, struct.unpack, string.format

--# include wire
--# include whole.lua
--# include clock.lua
--# include life.lua

local requests, words = ARGV[2], ARGV[3]
local stored = call('MGET', unpack(KEYS))
local reply = {}
local function answer(...)
  for i = 1, select('#', ...) do reply[#reply + 1] = (select(i, ...)) end
end
local wants_again = false
local function ask_again() wants_again = true end
-- See take.lua: here every bucket is a string.
local instants, changed, full_at, full_before, marks = {}, {}, {}, {}, nil

--# include buckets.lua
--# include carry-over.lua
--# include look-up.lua
--# include write-buckets.lua

local function answer_nothing(bucket, first)
  answer(first)
  for _ = 2, bucket.algorithm.reply_length do answer(0) end
end

-- Whole tokens that are there, of a surplus as well.
local function available(bucket, state)
  local whole, part = bucket.algorithm.missing(bucket.limit, state, now_us)
  return max(0, bucket.capacity_tokens - whole - (part > 0 and 1 or 0))
end

-- The state when so many tokens more are there, or less.
local function moved(bucket, state, tokens)
  if tokens == 0 then return state end
  local algorithm, limit = bucket.algorithm, bucket.limit
  return algorithm.adjusted(setmetatable(algorithm.costing(limit, math.abs(tokens)), { __index = limit }), state, tokens > 0)
end

-- How many of the tokens wanted are lent, where others have leases and the lessee keeps some of its own.
local function grantable(bucket, state, others, kept_tokens, wants_tokens)
  if bucket.block or #others >= LEASE.MOST_LESSEES then return 0 end
  local share_tokens = floor(bucket.capacity_tokens * LEASE.MOST_SHARE) - others.lent_tokens - kept_tokens
  local there_tokens = available(bucket, state)
  -- Nothing of a surplus: it goes by itself, and as long as it is there it is spent by asking.
  if there_tokens > bucket.capacity_tokens then return 0 end
  return max(0, min(wants_tokens, share_tokens, there_tokens))
end

-- The leases of others, and that of the lessee, if it has one.
local function split(bucket, lessee)
  local limit = bucket.limit
  local others, own = new_leases(limit.n or 1, bucket.algorithm.lends_by_time and limit.interval_us or 1), nil
  for _, lease in ipairs(bucket.leases or {}) do
    if lease.lessee == lessee and not own then own = lease else add_lease(others, lease) end
  end
  return others, own
end

-- The state and the leases of a bucket after a word; then what is kept, granted, and charged, until when the lease lasts, and what others hold.
local function lend(bucket, state, word)
  local others, own = split(bucket, word.lessee)
  if own and word.sequence <= own.sequence then return state, bucket.leases, 0, 0, 0, 0, others.lent_tokens end
  local elsewhere_tokens, lent_before = others.lent_tokens, own and own.lent_tokens or 0
  local kept_tokens = min(lent_before, word.holds_tokens)
  state = moved(bucket, state, min(lent_before - kept_tokens, word.gives_back_tokens))
  local charged_tokens = min(word.overspent_tokens, available(bucket, state))
  state = moved(bucket, state, -charged_tokens)
  local granted_tokens = grantable(bucket, state, others, kept_tokens, word.wants_tokens)
  state = moved(bucket, state, -granted_tokens)
  local lent_tokens = kept_tokens + granted_tokens
  if lent_tokens == 0 then return state, others[1] and others, 0, 0, charged_tokens, 0, elsewhere_tokens end
  local ends = bucket.algorithm.leases_end_us
  local last_us = min(ends and ends(bucket.limit, state) or math.huge, bucket.until_us or math.huge)
  -- A later end that was promised stands: whether this answer arrives is not known.
  local end_us = max(own and own.end_us or 0, min(now_us + word.for_us + 1, last_us))
  add_lease(others, { lessee = word.lessee, sequence = word.sequence, lent_tokens = lent_tokens, end_us = end_us })
  table.sort(others, by_end)
  return state, others, kept_tokens, granted_tokens, charged_tokens, min(word.for_us, last_us - now_us), elsewhere_tokens
end

local function read_word(position)
  local word = {}
  word.lessee, word.sequence, word.holds_tokens, word.gives_back_tokens, word.overspent_tokens, word.wants_tokens, word.for_us, position =
    unpack_struct('<I4dddddd', words, position)
  return word, position
end

-- Hears one word, and returns the positions of the next one and its bucket.
local function hear(position, word_position)
  local bucket, word, state, must_write, before
  wants_again = false
  bucket, position = read_bucket(position)
  word, word_position = read_word(word_position)
  local present = bucket.generations[#bucket.generations]
  bucket.capacity_tokens = present.capacity_tokens
  if bucket.algorithm.lends_by_time then bucket.limit.interval_us = present.interval_us end
  if not wants_again then state, must_write, before = look_up(bucket, stored[bucket.index]) end
  if wants_again then state = SENTINEL.AGAIN end
  if state == SENTINEL.STALE or state == SENTINEL.AGAIN then
    answer(state, 0, 0, 0, 0)
    answer_nothing(bucket, 0)
    return position, word_position
  end
  local after, leases, kept_tokens, granted_tokens, charged_tokens, for_us, elsewhere_tokens = lend(bucket, state, word)
  must_write = must_write or after ~= state or leases ~= bucket.leases
  bucket.leases = leases
  if must_write then
    stored[bucket.index], full_at[bucket.index] = as_written(bucket, after)
    full_before[bucket.index] = full_before[bucket.index] or before
  end
  answer(kept_tokens, granted_tokens, charged_tokens, for_us, elsewhere_tokens)
  if bucket.block then
    answer_nothing(bucket, SENTINEL.BLOCKED - (bucket.block.until_us - now_us))
  else
    bucket.algorithm.take(bucket.limit, after, 0, 0)
  end
  return position, word_position
end

local position, word_position = 1, 1
while position <= #requests do position, word_position = hear(position, word_position) end

local is_full, failure = write_buckets()
if failure then return failure end
reply[#reply + 1] = is_full and -now_us or now_us
return reply
