--[[
What is lent of a bucket; lease.ts in the limiter does the same and says why. Part of a script that has buckets.lua.

It stands in front of the bucket's state, behind a block, packed little-endian: O, u8 how many leases, f64 n, interval_us: n tokens come back every
interval, where the state is an instant; then for each lease, those that end first in front: u32 lessee, f64 sequence of its last call,
lent_tokens, end_us: from then on nothing of it is spent. No text of a lease is as short as an instant, so the short way of take.lua never takes one
for a number.
]]
local LENT_HEAD, LENT_LENGTH = 18, 28

local function is_whole(value, least, most) return value >= least and value <= most and floor(value) == value end

local function by_end(a, b)
  if a.end_us == b.end_us then return a.lessee < b.lessee end
  return a.end_us < b.end_us
end

-- How many bytes the leases take in front of a bucket's text: 0 if there are none, or if what stands there is none of ours.
local function length_of_leases(text)
  if byte(text) ~= 79 then return 0 end -- O
  local length = LENT_HEAD + LENT_LENGTH * (byte(text, 2) or 0)
  return #text > length and length or 0
end

-- A list of leases: { lessee, sequence, lent_tokens, end_us } each, `lent_tokens` of all, and how fast tokens come back where the state is an instant.
local function new_leases(n, interval_us) return { lent_tokens = 0, n = n, interval_us = interval_us } end

local function add_lease(leases, lease)
  leases[#leases + 1] = lease
  leases.lent_tokens = leases.lent_tokens + lease.lent_tokens
end

-- A bucket's text as it would stand there without leases, and the leases, if there are any. After a step back of the clock none of them ends
-- later than one that begins now; those and what is no lease have to be mended.
local function without_leases(text)
  local length = length_of_leases(text)
  if length == 0 then return text end
  local n, interval_us = unpack_struct('<dd', text, 3)
  if not is_whole(n, 1, 9e15) or not is_whole(interval_us, 1, 9e15) then return text end
  local leases, latest_us = new_leases(n, interval_us), now_us + LEASE.MOST_US + 1
  for position = LENT_HEAD + 1, length, LENT_LENGTH do
    local lessee, sequence, lent_tokens, end_us = unpack_struct('<I4ddd', text, position)
    if is_whole(sequence, 1, 9e15) and is_whole(lent_tokens, 1, 4e9) and is_whole(end_us, 0, math.huge) then
      if end_us > latest_us then end_us, leases.is_mended = latest_us, true end
      add_lease(leases, { lessee = lessee, sequence = sequence, lent_tokens = lent_tokens, end_us = end_us })
    else
      leases.is_mended = true
    end
  end
  table.sort(leases, by_end)
  return sub(text, length + 1), leases
end

-- A bucket's text behind its leases.
local function with_leases(leases, text)
  if not leases then return text end
  local parts = { 'O', pack_struct('<Bdd', #leases, leases.n, leases.interval_us) }
  for i, lease in ipairs(leases) do parts[i + 2] = pack_struct('<I4ddd', lease.lessee, lease.sequence, lease.lent_tokens, lease.end_us) end
  parts[#parts + 1] = text
  return concat(parts)
end

-- Those of them that were not over at an instant; nil if there are none.
local function afterwards(leases, at_us)
  if leases[1] and leases[1].end_us > at_us then return leases end
  local later = new_leases(leases.n, leases.interval_us)
  for _, lease in ipairs(leases) do
    if lease.end_us > at_us then add_lease(later, lease) end
  end
  return later[1] and later
end

-- The state at an instant of a bucket whose refill was held up by leases since it was written. `g`: its numbers at that time.
local function occupied_until(algorithm, g, state, leases, until_us)
  if not leases or not algorithm.occupied then return state end
  local lent_tokens, most_tokens = leases.lent_tokens, g.capacity_tokens or math.huge
  for _, lease in ipairs(leases) do
    if lease.end_us > until_us then break end
    state = algorithm.occupied(g, state, min(lent_tokens, most_tokens), lease.end_us - 1)
    lent_tokens = lent_tokens - lease.lent_tokens
  end
  if lent_tokens == 0 then return state end
  return algorithm.occupied(g, state, min(lent_tokens, most_tokens), until_us)
end
