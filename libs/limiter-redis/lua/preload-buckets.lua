--[[
Purpose    Puts buckets into Redis before their first request.
Guarantee  Never touches a bucket that is there. What it writes says no more than a missing bucket, whatever the limit is, was or will be:
           see buckets.lua. Harmless to repeat.

KEYS  the buckets
ARGV  1  time to live in milliseconds
Reply  how many were created
]]
local call = redis.call
local created = 0
for i = 1, #KEYS do
  if call('SET', KEYS[i], '-', 'PX', ARGV[1], 'NX') then created = created + 1 end
end
return created
