--[[
Continuous refill with fractions of a microsecond, and more that the usual bucket has not; greedy-refill.ts does the same.
Numbers  price, time to full; besides f64 n, part of price, part of time to full, start, part of start, surplus, when the limit started
Reply    the debt in microseconds, and its part
]]
local greedy = ALGORITHMS[KIND.GREEDY]
local with_parts = setmetatable({ numbers = 2 }, { __index = greedy })

function with_parts.read(price, full, position)
  local limit = greedy.read(price, full, position)
  limit.with_parts = true
  limit.n, limit.price_part, limit.full_part, limit.start, limit.start_part, limit.surplus, limit.started, position =
    unpack_struct('<ddddddd', requests, position)
  limit.lacks = limit.start > limit.started or (limit.start == limit.started and limit.start_part > 0)
  limit.is_full_at_start = not limit.lacks and limit.start >= 0
  return limit, position
end

return with_parts
