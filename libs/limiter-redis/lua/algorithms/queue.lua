--[[
A greedy bucket whose requests wait for their turn: a leaky bucket that delays.
Take        as greedy-with-parts.lua; then f64 max_wait_us
Reply       as greedy-with-parts.lua
]]
local with_parts = ALGORITHMS[KIND.GREEDY_WITH_PARTS]
local queue = setmetatable({}, { __index = with_parts })

function queue.read(position)
  local limit
  limit, position = with_parts.read(position)
  limit.max_wait_us, position = unpack_struct('<d', requests, position)
  return limit, position
end

return queue
