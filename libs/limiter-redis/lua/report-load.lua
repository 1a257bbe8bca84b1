--[[
Purpose    Counts the gateways that are alive and adds up what they forward, each of which reports every second.
Guarantee  A gateway that has been silent for SILENT_MS counts no more; the hash has as many fields as there are gateways, and
           is gone when nobody reports. What is no report of ours is dropped.

KEYS  1  a hash: gateway -> <when it reported, in milliseconds>:<requests a second>
ARGV  1  name of the gateway     2  requests a second, '' if it leaves
Reply requests a second of all gateways, rounded up; how many gateways
]]
local SILENT_MS = 3000
local MOST_PER_SECOND = 1e9

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f:%s', now, ARGV[2]))
  redis.call('PEXPIRE', KEYS[1], 10 * SILENT_MS)
end

local total, gateways = 0, 0
local reports = redis.call('HGETALL', KEYS[1])
for i = 1, #reports, 2 do
  local at, rate = string.match(reports[i + 1], '^(%d+):(%d+%.?%d*)$')
  at, rate = at and #at <= 15 and tonumber(at), tonumber(rate or '')
  -- What is no report is nobody's, and one of more than anybody forwards is none.
  if not at or not rate or rate > MOST_PER_SECOND or at < now - SILENT_MS then
    redis.call('HDEL', KEYS[1], reports[i])
  else
    -- From the future, because the clock stepped back: it counts as one of now, and no longer.
    if at > now then redis.call('HSET', KEYS[1], reports[i], string.format('%.0f:%s', now, rate)) end
    total, gateways = total + rate, gateways + 1
  end
end
return { math.ceil(total), gateways }
