--[[
Continuous refill with fractions of a microsecond, from any level at the start; greedy.ts in the limiter does the same.
Take        as greedy.lua; then f64 n, cost_part, full_part: n-ths of a microsecond; start_whole, start_part: the state at the start;
            surplus_us, a negative debt; started_us
Reply       debt_us, part
]]
local greedy = ALGORITHMS[KIND.GREEDY]
local with_parts = setmetatable({}, { __index = greedy })

function with_parts.read(position)
  local limit
  limit, position = greedy.read(position)
  limit.with_parts = true
  limit.n, limit.cost_part, limit.full_part, limit.start_whole, limit.start_part, limit.surplus_us, limit.started_us, position =
    unpack_struct('<ddddddd', requests, position)
  limit.lacks = limit.start_whole > limit.started_us or (limit.start_whole == limit.started_us and limit.start_part > 0)
  limit.is_full_at_start = not limit.lacks and limit.start_whole >= 0
  return limit, position
end

return with_parts
