--[[
Purpose    Gives back what a claim stands for, as far as the caller says, and ends the claim.
Guarantee  A claim is ended once, whoever asks and however often: by the time that something is given back it is ended, and what was ended before is left as it
           is. The buckets are changed as refund.lua changes them.

KEYS  the buckets, each once, and behind them the claim
ARGV  1  now in microseconds, '' for TIME
      2  what is given back, packed as in refund.lua
      3  the claim as the caller has read it
      4  what stands in its place from now on, for as long as it would have lived
Reply 1 if this call has ended the claim, how many buckets were given something, how many have other numbers since; otherwise 0
]]
local call, unpack_struct, format = redis.call, struct.unpack, string.format

--# include wire
--# include whole.lua
--# include clock.lua
local requests, answer, ask_again = nil, nil, nil -- only for takes

--# include buckets.lua
--# include give-back.lua

local claim = #KEYS
local stored = call('MGET', unpack(KEYS))
if stored[claim] ~= ARGV[3] then return { 0, 0, 0 } end
call('SET', KEYS[claim], ARGV[4], 'KEEPTTL')
local changed, given, edited = give_back(ARGV[2], stored)
for index in pairs(changed) do call('SET', KEYS[index], stored[index], 'KEEPTTL') end
return { 1, given, edited }
