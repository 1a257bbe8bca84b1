--[[
Purpose    Puts buckets into Redis before their first request.
           They are full from now on; their states are written as take.lua describes.
Guarantee  Never touches a bucket that is there. Harmless to repeat.

KEYS  the buckets
ARGV  1  time to live in milliseconds
      2  for each key the generation of its limit
Reply  how many were created
]]
local call = redis.call
local time = call('TIME')
local now = string.format('%016.0f', time[1] * 1000000 + time[2])
local created = 0
for i = 1, #KEYS do
  local generation = ARGV[i + 1]
  if call('SET', KEYS[i], generation == '0' and now or generation .. now, 'PX', ARGV[1], 'NX') then created = created + 1 end
end
return created
