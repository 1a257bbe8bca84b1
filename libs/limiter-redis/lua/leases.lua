--[[
What is lent of a bucket; lease.ts in the limiter does the same and says why. Part of a script that has buckets.lua.

It stands in front of the bucket's state, behind a block: B0,<digits>; and the digits are sixteen each for n and interval_us, where n tokens come back
every interval in a bucket whose state is an instant; then for each lease ten for its lessee, sixteen for the sequence of its last call, ten for the
tokens lent, and sixteen for end_us: from then on nothing of it is spent. A script of before leases takes that for a block that was over in
1970, and reads the state behind it. No text of leases is as short as an instant, so the short way of take.lua never takes one for a number.
]]
local LEASES = '^B0,(%d+);()'
local RATE_LENGTH, LEASE_LENGTH = 32, 52

local function by_end(a, b)
  if a.end_us == b.end_us then return a.lessee < b.lessee end
  return a.end_us < b.end_us
end

-- The digits of the leases in front of a bucket's text, and the position behind them; nil if there are none, or what stands there is none of ours.
local function digits_of_leases(text)
  if sub(text, 1, 3) ~= 'B0,' then return nil end
  local digits, behind = match(text, LEASES)
  if not digits or #digits < RATE_LENGTH or (#digits - RATE_LENGTH) % LEASE_LENGTH ~= 0 then return nil end
  return digits, behind
end

-- No number that is ours is larger, and none that is read may need more digits when it is written.
local function number_at(digits, at, length) return min(tonumber(sub(digits, at, at + length - 1)), 9007199254740991) end

-- A list of leases: { lessee, sequence, lent_tokens, end_us } each, `lent_tokens` of all, and how fast tokens come back where the state is an instant.
local function new_leases(n, interval_us) return { lent_tokens = 0, n = n, interval_us = interval_us } end

local function add_lease(leases, lease)
  leases[#leases + 1] = lease
  leases.lent_tokens = leases.lent_tokens + lease.lent_tokens
end

-- A bucket's text as it would stand there without leases, and the leases, if there are any. After a step back of the clock none of them ends
-- later than one that begins now; those and what is no lease have to be mended.
local function without_leases(text)
  local digits, behind = digits_of_leases(text)
  if not digits then return text end
  local leases, latest_us = new_leases(number_at(digits, 1, 16), number_at(digits, 17, 16)), now_us + LEASE.MOST_US + 1
  for at = RATE_LENGTH + 1, #digits, LEASE_LENGTH do
    local lessee, sequence, lent_tokens = number_at(digits, at, 10), number_at(digits, at + 10, 16), number_at(digits, at + 26, 10)
    local end_us = number_at(digits, at + 36, 16)
    if lent_tokens == 0 or #leases == LEASE.MOST_LESSEES then
      leases.is_mended = true
    else
      if end_us > latest_us then end_us, leases.is_mended = latest_us, true end
      add_lease(leases, { lessee = lessee, sequence = sequence, lent_tokens = lent_tokens, end_us = end_us })
    end
  end
  table.sort(leases, by_end)
  return sub(text, behind), leases
end

-- A bucket's text behind its leases.
local function with_leases(leases, text)
  if not leases then return text end
  local parts = { format('B0,%016.0f%016.0f', leases.n, leases.interval_us) }
  for i, lease in ipairs(leases) do
    parts[i + 1] = format('%010.0f%016.0f%010.0f%016.0f', lease.lessee, lease.sequence, lease.lent_tokens, lease.end_us)
  end
  return concat(parts) .. ';' .. text
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
