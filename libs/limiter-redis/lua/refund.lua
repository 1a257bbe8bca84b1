--[[
Purpose    Gives back what requests took: slots at the end of a response, or everything, as if a request had never come.
Guarantee  Nobody has more than if the request had not come: what has come back by itself is not given back, nor what an edit has
           carried over. Freeing a slot is harmless to repeat; other refunds are the caller's to send once. How long a bucket
           lives does not change, and a block goes on.

KEYS  the buckets, each once
ARGV  1  now in microseconds, '' for TIME
      2  what was taken, packed little-endian, one after the other:
           u8 kind, as in take.lua     u16 index of the bucket in KEYS     u32 generation
           six f64, of which each kind needs some: see Refund in its file in algorithms/
         or, in place of a kind, RETRY: then the index is that of the request's mark, see retries.lua, the generation is how many of
         those that follow are given back only if no retry of the request has passed, and the first f64 is when it was taken, in microseconds
Reply  how many buckets were given something, how many have other numbers since
]]
local call, unpack_struct, format = redis.call, struct.unpack, string.format

--# include wire
--# include whole.lua
--# include clock.lua
local requests, answer, ask_again = nil, nil, nil -- only for takes

--# include buckets.lua

--# include give-back.lua

local stored = call('MGET', unpack(KEYS))
local changed, given, edited = give_back(ARGV[2], stored)
for index in pairs(changed) do call('SET', KEYS[index], stored[index], 'KEEPTTL') end
return { given, edited }
