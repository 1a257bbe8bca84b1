--[[
Purpose    Notes that limits of merchants are nearly or wholly used, for those who want to be told.
Guarantee  Of one limit of a merchant's rule one kind is noted once within the interval, by this clock, however many gateways see it; of one
           merchant so many within it, of all together so many that wait. What is not noted leaves no trace and can be noted later. If
           nobody wants to be told, nothing is written.

KEYS  1  the kinds that somebody wants to be told of, separated by spaces
      2  the stream of what waits: k kind, m merchant, t when it was by this clock in milliseconds, r the rest as JSON
      3  of each event two: that it was noted, and how many of its merchant were
ARGV  1  the interval in milliseconds     2  how many may wait     3  how many of one merchant may be noted
      4  of each event its kind, its merchant, how many milliseconds ago, the rest
Reply how many were noted, how many were beyond the share of their merchant, how many found no room; -1 instead of the first if nobody wants to be
      told of anything
]]
local MEMBERS = 4

local call = redis.call
local interval_ms, most, per_merchant = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

-- What somebody else has put there is given up.
local function demand(key, kind)
  local found = call('TYPE', key).ok
  if found ~= 'none' and found ~= kind then call('DEL', key) end
end

demand(KEYS[1], 'string')
local wanted = call('GET', KEYS[1])
if not wanted then return { -1, 0, 0 } end
wanted = ' ' .. wanted .. ' '

demand(KEYS[2], 'stream')
local waiting = call('XLEN', KEYS[2])
local time = call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

-- What lives longer than the interval was written before the clock stepped back, and would keep silent for the whole step.
local function is_of_now(key)
  local lives_ms = call('PTTL', key)
  return lives_ms >= 0 and lives_ms <= tonumber(interval_ms)
end

-- Counts one more of a merchant, if there may be more.
local function has_share(key)
  demand(key, 'string')
  local used = tonumber(call('GET', key))
  if not used or used % 1 ~= 0 or not is_of_now(key) then
    call('SET', key, '1', 'PX', interval_ms)
    return true
  end
  if used >= per_merchant then return false end
  call('INCR', key)
  return true
end

local noted, beyond_share, no_room = 0, 0, 0
for i = 0, (#ARGV - 3) / MEMBERS - 1 do
  local at = 4 + i * MEMBERS
  local told, share = KEYS[3 + 2 * i], KEYS[4 + 2 * i]
  local is_wanted = string.find(wanted, ' ' .. ARGV[at] .. ' ', 1, true)
  if is_wanted and not is_of_now(told) then
    if waiting >= most then
      no_room = no_room + 1
    elseif not has_share(share) then
      beyond_share = beyond_share + 1
    else
      call('SET', told, '1', 'PX', interval_ms)
      local when = string.format('%.0f', now_ms - tonumber(ARGV[at + 2]))
      call('XADD', KEYS[2], '*', 'k', ARGV[at], 'm', ARGV[at + 1], 't', when, 'r', ARGV[at + 3])
      noted = noted + 1
      waiting = waiting + 1
    end
  end
end
-- What nobody has fetched by then is no news any more.
if noted > 0 then call('PEXPIRE', KEYS[2], interval_ms) end
return { noted, beyond_share, no_room }
