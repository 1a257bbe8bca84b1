--[[
Purpose    Reads one live bucket, fills it up, adds or takes tokens, blocks or unblocks it.
Guarantee  One step, as if no request came in between. Adding ends at a full bucket, taking at an empty one; a launch surplus is not given
           again. A block goes on over all but unblocking and another block. Reading writes nothing but what had to be mended, as in
           take.lua. The bucket lives until it is full and its block is over. Written is all or nothing.

KEYS  1  the bucket
ARGV  1  now in microseconds, '' for TIME
      2  the bucket, packed as in take.lua; its cost is what is added or taken, or what a reader wants to know whether it would pass
      3  read, reset, add, take, block, unblock
      4  for block: for how many microseconds
Reply  how long a block goes on after it, in microseconds, or 0; then what the bucket holds beneath it: see the file of its algorithm. In place of the first number, nothing being done: STALE or AGAIN, as in take.lua.
       Last of all, what time it is here, in microseconds; negative if Redis is full, and nothing was written: only what was read counts then.
]]
local call, unpack_struct, format = redis.call, struct.unpack, string.format

--# include wire
--# include whole.lua
--# include clock.lua
--# include life.lua

local requests, operation = ARGV[2], ARGV[3]
local reply = { 0 }
local function answer(...)
  for i = 1, select('#', ...) do reply[#reply + 1] = (select(i, ...)) end
end
local wants_again = false
local function ask_again() wants_again = true end

--# include buckets.lua
--# include carry-over.lua
--# include look-up.lua

local key = KEYS[1]
local bucket = read_bucket(1)
local algorithm, limit = bucket.algorithm, bucket.limit
local state, must_write
if not wants_again then state, must_write = look_up(bucket, call('MGET', key)[1]) end
if wants_again then state = SENTINEL.AGAIN end
if state == SENTINEL.STALE or state == SENTINEL.AGAIN then return { state, now_us } end

if operation == 'reset' then
  state = algorithm.full and algorithm.full(limit) or algorithm.state_missing(limit, 0, 0, 1, now_us)
elseif operation == 'add' or operation == 'take' then
  state = algorithm.adjusted(limit, state, operation == 'add')
elseif operation == 'block' then
  local length_us = tonumber(ARGV[4])
  bucket.block = { until_us = now_us + length_us, length_us = length_us }
end
-- What is lent of it stays missing.
state = occupied_until(algorithm, limit, state, bucket.leases, now_us)
local unblocks = operation == 'unblock' and bucket.block
if unblocks then bucket.block = nil end

local is_full = false
if must_write or unblocks or (operation ~= 'read' and operation ~= 'unblock') then
  local text, ends = as_written(bucket, state)
  -- Any error but that of a full Redis is returned as it came, so that its code stays in front.
  local done, failure = pcall(call, 'SET', key, text, 'EX', life(ends))
  if not done then
    if type(failure) == 'table' then failure = failure.err end
    if not string.find(failure, 'OOM', 1, true) then return { err = failure } end
    is_full = true
  end
end

if bucket.block then reply[1] = bucket.block.until_us - now_us end
algorithm.take(takable_limit(bucket), state, 0, 0)
reply[#reply + 1] = is_full and -now_us or now_us
return reply
