-- Writes what a call has changed. Part of take.lua.

local writes = 0

local function write(index, value, full_at_us, full_before_us)
  if full_at_us - full_at_us % EPOCH_US == full_before_us - full_before_us % EPOCH_US then
    call('SET', KEYS[index], value, 'KEEPTTL')
  else
    call('SET', KEYS[index], value, 'EX', life(full_at_us))
  end
  writes = writes + 1
end

local function write_all()
  for index, full_at_us in pairs(full_at) do write(index, stored[index], full_at_us, full_before[index]) end
  -- With the buckets or not at all.
  for index, seconds in pairs(marks or {}) do
    if seconds < 0 then call('SET', KEYS[index], stored[index], 'KEEPTTL') else call('SET', KEYS[index], stored[index], 'EX', seconds) end
    writes = writes + 1
  end
  -- Last: a bucket that is in both tables was changed as a number after it was written as a string.
  for index, full_before_us in pairs(changed) do write(index, format(WHOLE, instants[index]), instants[index], full_before_us) end
end

-- Whether Redis is full and nothing was written, and any other error, as it came, so that its code stays in front. A full Redis refuses the
-- first write of a script, and lets one that has written finish: it is all or nothing. Refusals are worth an answer even then.
local function write_buckets()
  local done, failure = pcall(write_all)
  if done then return false end
  if type(failure) == 'table' then failure = failure.err end
  if writes > 0 or not string.find(failure, 'OOM', 1, true) then return false, { err = failure } end
  return true
end
