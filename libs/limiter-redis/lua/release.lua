--[[
Purpose    Frees slots of concurrency limits: see algorithms/concurrency.lua.
Guarantee  Harmless to repeat, and for slots that have timed out. How long a bucket lives does not change.

KEYS  the buckets, each once
ARGV  1  the slots, packed little-endian: u16 index of the bucket in KEYS, f64 name of the slot
Reply  how many were freed
]]
local HEAD, SLOT = 3, 24
local call, unpack_struct, sub = redis.call, struct.unpack, string.sub

local stored = call('MGET', unpack(KEYS))
local changed, freed = {}, 0
local position = 1
while position <= #ARGV[1] do
  local index, slot
  index, slot, position = unpack_struct('<Hd', ARGV[1], position)
  local value = stored[index]
  if value and sub(value, 1, 1) == 'C' and (#value - HEAD) % SLOT == 0 then
    for at = HEAD + 1, #value, SLOT do
      local _, name = unpack_struct('<dd', value, at)
      if name == slot then
        stored[index] = sub(value, 1, at - 1) .. sub(value, at + SLOT)
        changed[index] = true
        freed = freed + 1
        break
      end
    end
  end
end
for index in pairs(changed) do call('SET', KEYS[index], stored[index], 'KEEPTTL') end
return freed
