--[[
A greedy bucket whose requests wait for their turn; leaky-bucket.ts says why.
Numbers  as greedy-with-parts.lua; besides f64 the longest wait, in microseconds
Reply    as greedy-with-parts.lua
]]
local greedy = ALGORITHMS[KIND.GREEDY_WITH_PARTS]
local queue = setmetatable({ numbers = 2 }, { __index = greedy })

function queue.read(price, full, position)
  local limit
  limit, position = greedy.read(price, full, position)
  limit.max_wait, position = unpack_struct('<d', requests, position)
  return limit, position
end

return queue
