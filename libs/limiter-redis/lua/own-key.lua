-- Part of a script that has `call`.

-- A key of another type is nobody's: what stands there is given up.
local function own(key, command, ...)
  local found = redis.pcall(command, key, ...)
  if type(found) ~= 'table' or not found.err then return found end
  if string.find(found.err, 'WRONGTYPE', 1, true) then
    call('DEL', key)
    return call(command, key, ...)
  end
  return error(found.err)
end
