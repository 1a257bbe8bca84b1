--[[
Purpose    Refills and takes for many requests in one call.
Guarantee  Each request takes from all of its buckets or from none, in the order given, as if it were alone. A refused
           request writes nothing but refusals that a penalty counts, and what had to be mended: a state from the future after the clock
           stepped back, or one of former numbers. A missing bucket is one left alone since its limit started, so a bucket may
           expire when it is full. One clock for all who share a bucket: this server's.

KEYS  the buckets, each once
ARGV  1  now in microseconds, '' for TIME (tests bring their own clock)
      2  the buckets asked, packed little-endian, one after the other:
           u8  kind (see KIND); +16 if it is bypassed: its refusal does not refuse the request; +32 if there are former numbers, +64 if the next bucket
               belongs to the same request, +128 if the former numbers follow
           u16 index of its key in KEYS, from 1        u32 generation
           two f64 or more that the kind needs: see Take in its file in algorithms/
           if 32,768 was added to the index, f64 from_us, until_us: when the numbers hold; fills_after_us: how long those after them need to fill
           if 16,384 was, f64 twice: what the request has to leave to others, as tokens and 0, or of a greedy bucket as whole and part of the time in
           which they come back
           former  u8 number of generations, the oldest first and the present one last, for each
                   u32 generation, u8 kind, u8 onEdit, f64 capacity_tokens, started_us: when it came into force; then see Generation in the file
                   of the kind
         In front of a request whose retries are known stands how: see retries.lua
Reply  in front of such a request what became of it, see RETRY; then for each bucket asked what it held before, in one number or more: see its file. Whoever sent the request knows the rest.
       In place of a request's first number, nothing being taken: STALE, a bucket was written under numbers newer than the request's, or these
       do not hold now;
       AGAIN, a bucket was written under former numbers that were not sent, or the windows that were sent are not those of now.
       In place of a bucket's first number: BLOCKED, less the microseconds for which an operator's block goes on; the others are 0 then.
       Last of all, what time it is here, in microseconds; negative if Redis is full, and none of the call was written.
How a state is written: see buckets.lua.
]]
local call, unpack_struct, format = redis.call, struct.unpack, string.format

--# include wire
--# include whole.lua
--# include clock.lua
--# include life.lua

local requests = ARGV[2]
local stored = call('MGET', unpack(KEYS))
-- The numbers of the reply, and how many there are.
local reply, replies = {}, 0
-- The usual buckets are kept as numbers until the end of the call; others as strings, in `stored`. `changed` has those numbers that must
-- be written, with what they were at first, or -1 if there was no bucket.
local instants, changed = {}, {}
-- For the others that were written: when they will be full (and a block is over), and when they would have been, or -1 if that is not known.
local full_at, full_before = {}, {}

-- Marks of requests that were charged, where there are any: how long they live from now on in seconds, or -1.
local marks

--# include usual-bucket.lua
--# include write-buckets.lua

-- Takes for a request of any kinds, from its position on, and returns the position of the next one. Made when it is needed, because it
-- consists of many functions.
local take_general
local function make_take_general()
  --# include general-buckets.lua
end

local position, length = 1, #requests
while position <= length do
  -- Two numbers are there whatever the kind is; of a greedy bucket these.
  local kind, index, generation, cost_us, full_us, after = unpack_struct('<BHI4dd', requests, position)
  local full_at_us, first_us
  if kind == KIND.GREEDY and generation == 0 then full_at_us, first_us = usual_instant(index) end
  if full_at_us then
    take_usual(index, full_at_us, first_us, cost_us, full_us)
    position = after
  else
    take_general = take_general or make_take_general()
    position = take_general(position)
  end
end

local is_full, failure = write_buckets()
if failure then return failure end
reply[replies + 1] = is_full and -now_us or now_us
return reply
