--[[
Purpose    Writes receipts of decisions down, and drops the oldest.
Guarantee  A merchant writes MINUTES_AT_ONCE times as many at once as it may write a minute, and no more than that a minute from then on (GCRA), so it
           pushes out no more of the others' than that. What passed fits only while half of that is left, so that refusals have the other half. There are never more receipts than may be kept, but for a while after that number was
           lowered; those that are too old go. The hash names what is in the stream and nothing else.

KEYS  1  the stream: i id of the request, m merchant, o 1 if it passed, t when it was by this clock in milliseconds, r the rest as JSON
      2  a hash: id of a request -> the ids of its receipts, the newest last
      3  of each merchant, until when its share is used up
ARGV  1  how many are kept     2  for how long, in milliseconds     3  receipts a minute of one merchant
      4  of each receipt: whose share it uses up, as a number in KEYS, its merchant, the id of the request, 1 if it passed, how many milliseconds
         ago, the rest
Reply how many were written
]]
local MINUTES_AT_ONCE = 25
local MOST_OF_AN_ID = 4
local MOST_DROPPED = 500

local call, find = redis.call, string.find
local most, kept_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
local interval_ms = 60000 / tonumber(ARGV[3])
local time = call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

-- What somebody else has put there is given up.
local function demand(key, kind)
  local found = call('TYPE', key).ok
  if found ~= 'none' and found ~= kind then call('DEL', key) end
end
demand(KEYS[1], 'stream')
demand(KEYS[2], 'hash')

-- How many of a merchant's receipts fit into its share. A time that lies too far ahead was written before the clock stepped back.
local function share(key, wanted)
  demand(key, 'string')
  local at_once_ms = 60000 * MINUTES_AT_ONCE
  local used_until = math.min(math.max(tonumber(call('GET', key) or 0) or 0, now_ms), now_ms + at_once_ms)
  local room = math.floor((now_ms + at_once_ms - used_until) / interval_ms + 1e-6)
  local refused = math.min(wanted.refused, room)
  local passed = math.max(0, math.min(wanted.passed, room - refused - math.floor(at_once_ms / interval_ms / 2)))
  if refused + passed > 0 then
    used_until = used_until + (refused + passed) * interval_ms
    call('SET', key, string.format('%.0f', used_until), 'PX', string.format('%.0f', used_until - now_ms + 1000))
  end
  return { refused = refused, passed = passed }
end

local function write(merchant, request, passed, age_ms, rest)
  local at = string.format('%.0f', now_ms - tonumber(age_ms))
  local id = call('XADD', KEYS[1], '*', 'i', request, 'm', merchant, 'o', passed, 't', at, 'r', rest)
  local ids = {}
  for each in string.gmatch(call('HGET', KEYS[2], request) or '', '%S+') do ids[#ids + 1] = each end
  ids[#ids + 1] = id
  call('HSET', KEYS[2], request, table.concat(ids, ' ', math.max(1, #ids - MOST_OF_AN_ID + 1)))
end

local MEMBERS = 6
local function outcome_at(at) return ARGV[at + 3] == '1' and 'passed' or 'refused' end

local wanted = {}
for at = 4, #ARGV, MEMBERS do
  local owner, outcome = tonumber(ARGV[at]), outcome_at(at)
  wanted[owner] = wanted[owner] or { refused = 0, passed = 0 }
  wanted[owner][outcome] = wanted[owner][outcome] + 1
end
local fits = {}
for owner, counts in pairs(wanted) do fits[owner] = share(KEYS[owner], counts) end
local written = 0
for at = 4, #ARGV, MEMBERS do
  local counts, outcome = fits[tonumber(ARGV[at])], outcome_at(at)
  if counts[outcome] > 0 then
    counts[outcome] = counts[outcome] - 1
    write(ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5])
    written = written + 1
  end
end

local function forget(request, id)
  local ids = {}
  for each in string.gmatch(call('HGET', KEYS[2], request) or '', '%S+') do
    if each ~= id then ids[#ids + 1] = each end
  end
  if #ids == 0 then call('HDEL', KEYS[2], request) else call('HSET', KEYS[2], request, table.concat(ids, ' ')) end
end

-- By the id of the stream, which never steps back.
local too_many = call('XLEN', KEYS[1]) - most
local dropped = 0
for _, entry in ipairs(call('XRANGE', KEYS[1], '-', '+', 'COUNT', math.min(MOST_DROPPED, math.max(too_many, 0) + 10))) do
  local id, fields = entry[1], entry[2]
  if dropped >= too_many and tonumber(string.match(id, '^%d+')) >= now_ms - kept_ms then break end
  dropped = dropped + 1
  -- What is no receipt of ours has no other place to be forgotten at.
  if fields[1] == 'i' then forget(fields[2], id) end
end
if dropped > 0 then call('XTRIM', KEYS[1], 'MAXLEN', call('XLEN', KEYS[1]) - dropped) end

local ttl_ms = string.format('%.0f', kept_ms + 3600000)
call('PEXPIRE', KEYS[1], ttl_ms)
call('PEXPIRE', KEYS[2], ttl_ms)
return written
