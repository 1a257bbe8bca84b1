-- The short way of the usual bucket: greedy, without fractions, never edited, asked alone. Part of take.lua.

local UNTOUCHED = '-' -- see buckets.lua

-- When it will be full, and what that was at first: both nil if what stands there is no usual bucket. Without a bucket 0, and -1.
local function usual_instant(index)
  local full_at_us = instants[index]
  if not full_at_us then
    local value = stored[index]
    if not value then return 0, -1 end
    if #value > DIGITS then return nil end
    full_at_us = value == UNTOUCHED and 0 or tonumber(value)
    if not full_at_us then return nil end
  end
  if full_at_us < 0 then return nil end
  return full_at_us, changed[index] or full_at_us
end

local function take_usual(index, full_at_us, first_us, cost_us, full_us)
  local debt_us = full_at_us - now_us
  if debt_us < 0 then
    debt_us = 0
  elseif debt_us > full_us then
    -- From the future, because the clock stepped back: empty from now on.
    debt_us, full_at_us = full_us, now_us + full_us
    instants[index], changed[index], first_us = full_at_us, -1, -1
  end
  replies = replies + 1
  reply[replies] = debt_us
  debt_us = debt_us + cost_us
  if debt_us <= full_us and cost_us > 0 then
    instants[index], changed[index] = debt_us + now_us, first_us
  elseif stored[index] then
    instants[index] = full_at_us
  end
end
