--[[
Purpose    Puts buckets into Redis before their first request.
Guarantee  Never touches a bucket that is there. Harmless to repeat.

KEYS  the buckets
ARGV  1  time to live in milliseconds
      2  for each key its state, or only the three digits of its generation: full since now
Reply  how many were created
]]
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
local created = 0
for i = 1, #KEYS do
  local state = ARGV[i + 1]
  if #state == 3 then state = now .. state end
  if redis.call('SET', KEYS[i], state, 'PX', ARGV[1], 'NX') then created = created + 1 end
end
return created
