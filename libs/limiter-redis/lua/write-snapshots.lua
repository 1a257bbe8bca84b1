--[[
Purpose    Writes snapshots of merchants' rules.
Guarantee  An older version never overwrites a newer one; the same version only lives longer. What is no snapshot, or has a version that
           no snapshot can have, is overwritten. Harmless to repeat. Where formats may be changed, the same version in another format that
           is not a later one is overwritten too; it does not count as written, because it says the same.

KEYS  the snapshots
ARGV  1  time to live in milliseconds, 0 for ever
      2  1 if formats may be changed, otherwise 0
      3  the snapshots' texts, in the order of KEYS: sixteen digits of version, then JSON
Reply  { written, already newer }
]]
local call = redis.call
local ttl, reformat = tonumber(ARGV[1]), ARGV[2] == '1'
-- MOST_VERSIONS of snapshot-format.ts.
local MOST_VERSIONS = '0001000000000000'

-- COMPACT_FORMAT of compact-snapshot.ts, the latest that is known here.
local LATEST_FORMAT = 3
-- Sixteen digits and the format, with which the JSON begins.
local HEAD = 31

-- The version of what stands at a key, as its sixteen digits; empty if there is no snapshot. And what the text begins with.
local function version_at(key)
  -- A key of another type answers with an error.
  local start = redis.pcall('GETRANGE', key, 0, HEAD)
  local version = type(start) == 'string' and string.match(start, '^(%d+){') or ''
  return #version == 16 and version <= MOST_VERSIONS and version or '', start
end

-- What no writer writes any more has none, and stays until it is edited.
local function format_of(text)
  return tonumber(string.match(text, '^%d+{"format":(%d+)[,}]') or '')
end

local function put(key, text)
  if ttl > 0 then call('SET', key, text, 'PX', ARGV[1]) else call('SET', key, text) end
end

local function has_other_format(start, text)
  local present = format_of(start)
  return present and present <= LATEST_FORMAT and present ~= format_of(text)
end

local written, newer = 0, 0

-- A Redis that is filled for the first time has nothing to compare with: up to the first snapshot that is there already. An absolute time spares Redis to make one of each.
if ttl > 0 then
  local now = call('TIME')
  local at = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000) + ttl)
  while written < #KEYS and call('SET', KEYS[written + 1], ARGV[written + 3], 'PXAT', at, 'NX') do written = written + 1 end
end

for i = written + 1, #KEYS do
  local text = ARGV[i + 2]
  local present, start = version_at(KEYS[i])
  local version = string.sub(text, 1, 16)
  if present > version then
    newer = newer + 1
  elseif present == version and reformat and has_other_format(start, text) then
    put(KEYS[i], text)
  elseif present == version then
    if ttl > 0 then call('PEXPIRE', KEYS[i], ARGV[1]) end
  else
    put(KEYS[i], text)
    written = written + 1
  end
end
return { written, newer }
