--[[
Purpose    Writes a snapshot in place of something that a gateway could not read.
Guarantee  Replaces only what was found: whatever has been written since stays. Harmless to repeat.

KEYS  1  the snapshot
ARGV  1  time to live in milliseconds, 0 for ever
      2  the snapshot's text: sixteen digits of version, then JSON
      3  SHA-1 of what was found, in hexadecimal; empty: something that is no text
      4  the last byte of it that was looked at
Reply 1 if it was replaced, otherwise 0
]]
local call = redis.call
local key, ttl, text, expected, last = KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]

-- A key of another type answers with an error.
local present = redis.pcall('GETRANGE', key, 0, last)
local found = type(present) == 'string' and redis.sha1hex(present) or ''
if found ~= expected then return 0 end
if ttl > 0 then call('SET', key, text, 'PX', ARGV[1]) else call('SET', key, text) end
return 1
