-- The short way of the usual bucket: greedy, without fractions, never edited, asked alone. Part of take.lua.

local UNTOUCHED = '-' -- see buckets.lua

-- When it will be full, and what that was at first: both nil if what stands there is no usual bucket. Without a bucket 0, and -1.
local function usual_instant(index)
  local instant = instants[index]
  if not instant then
    local value = stored[index]
    if not value then return 0, -1 end
    if #value > DIGITS then return nil end
    instant = value == UNTOUCHED and 0 or tonumber(value)
    if not instant then return nil end
  end
  if instant < 0 then return nil end
  return instant, changed[index] or instant
end

local function take_usual(index, instant, first, price, full)
  local debt = instant - now
  if debt < 0 then
    debt = 0
  elseif debt > full then
    -- From the future, because the clock stepped back: empty from now on.
    debt, instant = full, now + full
    instants[index], changed[index], first = instant, -1, -1
  end
  replies = replies + 1
  reply[replies] = debt
  debt = debt + price
  if debt <= full and price > 0 then
    instants[index], changed[index] = debt + now, first
  elseif stored[index] then
    instants[index] = instant
  end
end
