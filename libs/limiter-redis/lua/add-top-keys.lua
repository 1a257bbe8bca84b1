--[[
Purpose    Adds to how often keys of rules, like one account or one address, asked and were refused.
Guarantee  A rank has at most MOST_RANKED members and is gone when its time to live is over. What stands there and is no rank is overwritten. A
           member that is missing for lack of room has come no more often than the least that is there, and one that came late may be
           overestimated by as much.

KEYS  1  the rank of requests     2  the rank of refusals
ARGV  1  time to live in seconds     2  of each count: the number of its rank, the member, how often it came
Reply 1
]]
local MOST_RANKED = 1000

local call = redis.call

--# include own-key.lua
--# include space-saving.lua

for at = 2, #ARGV, 3 do add_to_rank(KEYS[tonumber(ARGV[at])], MOST_RANKED, ARGV[at + 1], tonumber(ARGV[at + 2])) end
for _, rank in ipairs(KEYS) do call('EXPIRE', rank, ARGV[1]) end
return 1
