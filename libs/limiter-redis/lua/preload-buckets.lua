--[[
Purpose    Puts buckets into Redis before their first request.
Guarantee  Never touches a bucket that is there. What it writes says no more than a missing bucket, whatever the limit is, was or will be:
           see buckets.lua. Harmless to repeat.

KEYS  the buckets
ARGV  1  time to live in milliseconds
Reply  how many were created
]]
local call = redis.call
-- An absolute time spares Redis to make one of each.
local now = call('TIME')
local at = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[1])
local created = 0
for i = 1, #KEYS do
  if call('SET', KEYS[i], '-', 'PXAT', at, 'NX') then created = created + 1 end
end
return created
