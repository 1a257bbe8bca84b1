-- Writes what a call has changed. Part of take.lua.

local writes = 0

local function write(index, value, instant, before)
  if instant - instant % EPOCH_US == before - before % EPOCH_US then
    call('SET', KEYS[index], value, 'KEEPTTL')
  else
    call('SET', KEYS[index], value, 'EX', life(instant))
  end
  writes = writes + 1
end

local function write_all()
  for index, instant in pairs(full_at) do write(index, stored[index], instant, full_before[index]) end
  -- Last: a bucket that is in both tables was changed as a number after it was written as a string.
  for index, before in pairs(changed) do write(index, format(WHOLE, instants[index]), instants[index], before) end
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
