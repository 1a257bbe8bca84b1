--[[
Purpose    Writes snapshots of merchants' rules.
Guarantee  An older version never overwrites a newer one; the same version only lives longer. What is no snapshot, or has a version that
           no snapshot can have, is overwritten. Harmless to repeat.

KEYS  the snapshots
ARGV  1  time to live in milliseconds, 0 for ever
      2  the snapshots' texts, in the order of KEYS: sixteen digits of version, then JSON
Reply  { written, already newer }
]]
local call = redis.call
local ttl = tonumber(ARGV[1])
-- MOST_VERSIONS of snapshot-format.ts.
local MOST_VERSIONS = '0001000000000000'

-- The version of what stands at a key, as its sixteen digits; empty if there is no snapshot.
local function version_at(key)
  -- A key of another type answers with an error.
  local start = redis.pcall('GETRANGE', key, 0, 16)
  local version = type(start) == 'string' and string.match(start, '^(%d+){$') or ''
  return #version == 16 and version <= MOST_VERSIONS and version or ''
end

-- A Redis that is filled for the first time has nothing to compare with.
if ttl > 0 and call('EXISTS', unpack(KEYS)) == 0 then
  for i = 1, #KEYS do call('SET', KEYS[i], ARGV[i + 1], 'PX', ARGV[1]) end
  return { #KEYS, 0 }
end

local written, newer = 0, 0
for i = 1, #KEYS do
  local text = ARGV[i + 1]
  local present = version_at(KEYS[i])
  local version = string.sub(text, 1, 16)
  if present > version then
    newer = newer + 1
  elseif present == version then
    if ttl > 0 then call('PEXPIRE', KEYS[i], ARGV[1]) end
  else
    if ttl > 0 then call('SET', KEYS[i], text, 'PX', ARGV[1]) else call('SET', KEYS[i], text) end
    written = written + 1
  end
end
return { written, newer }
