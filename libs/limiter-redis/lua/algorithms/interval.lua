--[[
Refill in whole steps; interval-refill.ts does the same.
Numbers  cost, capacity, start tokens; besides f64 refill, interval, start step
Reply    tokens, microseconds since the last step
Text     :<tokens>i behind the step
]]
do
  -- A state: { a = tokens, b = step }.
  local interval = { numbers = 2 }

  function interval.read(cost, capacity, start, position)
    local refill, every, start_step
    refill, every, start_step, position = unpack_struct('<ddd', requests, position)
    return { cost = cost, capacity = capacity, start = start, refill = refill, every = every, start_step = start_step }, position
  end

  function interval.started(limit) return { a = limit.start, b = limit.start_step } end

  function interval.empty() return { a = 0, b = now } end

  function interval.parse(instant, rest) return { a = tonumber(rest) or 0, b = instant } end

  function interval.text(generation, state, with_generation)
    return format('%s:%.0fi', with_generation(generation, state.b), state.a)
  end

  function interval.take(limit, state)
    local tokens, elapsed = state.a, max(0, now - state.b)
    local steps = floor(elapsed / limit.every)
    if steps > 0 then
      tokens = min(limit.capacity, tokens + steps * limit.refill)
      elapsed = elapsed - steps * limit.every
    end
    answer(tokens, elapsed)
    if limit.cost == 0 then return true end
    local left = tokens - limit.cost
    local filled = now - elapsed + ceil((limit.capacity - left) / limit.refill) * limit.every
    if limit.start > limit.capacity then return left >= 0, { a = left, b = now - elapsed }, max(filled, limit.start_step + limit.every) end
    return left >= 0, { a = left, b = now - elapsed }, filled, state.b + ceil((limit.capacity - state.a) / limit.refill) * limit.every
  end

  function interval.refunded(state, step, cost, capacity, refill, every)
    local owed = cost - max(0, floor((now - step) / every)) * refill
    if owed <= 0 or state.a >= capacity then return nil end
    return { a = min(capacity, state.a + owed), b = state.b }
  end

  -- first: refill, second: interval
  function interval.available(g, state, at)
    local elapsed = at - state.b
    if elapsed < 0 then return state.a end
    local steps = floor(elapsed / g.second)
    if steps == 0 then return state.a end
    return min(g.capacity, state.a + steps * g.first)
  end

  function interval.state_with(_, tokens, at) return { a = floor(tokens), b = at } end

  ALGORITHMS[2] = interval
end
