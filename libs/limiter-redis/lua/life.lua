-- How long a bucket lives. Part of a script that has `format` and `now_us`.
--
-- It lives to the end of the epoch in which it will be full, and some more in case the clock steps back. So its time to live is set
-- anew only when that epoch is another one, which is a third of the cost of writing.
local EPOCH_US = 64000000
local SLACK_US = 30000000

-- Seconds to live for a bucket that is full at an instant.
local function life(full_at_us)
  return format('%.0f', (full_at_us - full_at_us % EPOCH_US + EPOCH_US + SLACK_US - now_us) / 1000000 + 0.5)
end
