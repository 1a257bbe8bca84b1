--[[
Refill in whole steps; interval-refill.ts does the same.
Numbers  cost, capacity; besides f64 tokens at the start, when the limit started, refill, interval
Former   refill, interval
Reply    tokens, microseconds since the last step
Text     :<tokens>i behind the step
]]
do
  -- A state: { a = tokens, b = step }.
  local interval = { suffix = 'i', names = { 'refill', 'every' }, numbers = 2 }

  function interval.read(cost, capacity, position)
    local start, started, refill, every
    start, started, refill, every, position = unpack_struct('<dddd', requests, position)
    return { cost = cost, capacity = capacity, start = start, started = started, lacks = start < capacity, refill = refill, every = every }, position
  end

  function interval.started(limit) return { a = limit.start, b = min(now, limit.started) } end

  function interval.parse(instant, rest) return { a = tonumber(rest) or 0, b = instant } end

  function interval.text(generation, state)
    return format('%s:%.0fi', with_generation(generation, state.b), state.a)
  end

  -- Tokens at an instant, and the time since the last step.
  local function level(limit, state, at)
    local elapsed = at - state.b
    local steps = floor(elapsed / limit.every)
    if steps <= 0 then return state.a, max(0, elapsed) end
    return min(limit.capacity, state.a + steps * limit.refill), elapsed - steps * limit.every
  end

  function interval.clamped(limit, state)
    if state.b > now then return { a = max(0, state.a), b = now } end
    if state.a >= 0 then return state end
    local tokens, since = level(limit, state, now)
    if tokens >= 0 then return state end
    return { a = 0, b = now - since }
  end

  function interval.take(limit, state)
    local tokens, since = level(limit, state, now)
    answer(tokens, since)
    if limit.cost == 0 then return true end
    return tokens >= limit.cost, { a = tokens - limit.cost, b = now - since }
  end

  -- A surplus is over with the next step.
  function interval.full_at(limit, state)
    if state.a > limit.capacity then return state.b + limit.every end
    return state.b + ceil((limit.capacity - state.a) / limit.refill) * limit.every
  end

  function interval.refunded(state, step, cost, capacity, refill, every)
    local owed = cost - max(0, floor((now - step) / every)) * refill
    if owed <= 0 or state.a >= capacity then return nil end
    return { a = min(capacity, state.a + owed), b = state.b }
  end

  function interval.adjusted(limit, state, adds)
    local tokens, since = level(limit, state, now)
    local moved = tokens + (adds and limit.cost or -limit.cost)
    return { a = adds and max(tokens, min(limit.capacity, moved)) or max(0, moved), b = now - since }
  end

  function interval.missing(g, state, at) return g.capacity - level(g, state, at), 0, 1 end

  function interval.state_missing(g, whole, part, _, at) return { a = g.capacity - whole - (part > 0 and 1 or 0), b = at } end

  ALGORITHMS[2] = interval
end
