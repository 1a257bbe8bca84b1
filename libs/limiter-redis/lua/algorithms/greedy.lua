--[[
Continuous refill: the state is the instant at which the bucket will be full; greedy-refill.ts does the same.
Numbers  kind 0: price, full, start, in microseconds; kind 1: besides f64 n, part of price, of full, of start, surplus;
         kind 7, a queue: as kind 1, and the longest wait
Reply    the debt in microseconds; kinds 1 and 7: and its part
Text     nothing; or .<part>f
]]
do
  -- A state: { a = instant, b = part }, negative for a surplus.
  local greedy = { numbers = 1 }

  function greedy.read(cost, capacity, start, position)
    return {
      cost = cost, capacity = capacity, start = start, with_parts = false, n = 1, price_part = 0, full_part = 0, start_part = 0,
      surplus = 0, max_wait = math.huge,
    }, position
  end

  function greedy.started(limit) return { a = limit.start, b = limit.start_part } end

  function greedy.empty(limit) return { a = now + limit.capacity, b = limit.full_part } end

  function greedy.parse(instant, rest) return { a = instant, b = tonumber(rest) or 0 } end

  function greedy.text(generation, state, with_generation)
    local head = with_generation(generation, state.a)
    if state.b == 0 then return head end
    return format('%s.%.0ff', head, state.b)
  end

  local function debt_of(limit, state)
    local debt, part = 0, state.b
    local full, full_part = limit.capacity, limit.full_part
    if state.a < 0 then
      debt = state.a + now
      if debt >= 0 then debt, part = 0, 0 elseif debt < limit.surplus then debt, part = limit.surplus, 0 end
    else
      debt = state.a - now
      if debt < 0 then debt, part = 0, 0
      elseif debt > full or (debt == full and part > full_part) then debt, part = full, full_part end
    end
    return debt, part
  end

  function greedy.take(limit, state)
    local debt, part = debt_of(limit, state)
    local wait = debt
    if limit.with_parts then answer(debt, part) else answer(debt) end
    debt, part = debt + limit.cost, part + limit.price_part
    if part >= limit.n then debt, part = debt + 1, part - limit.n end
    local allowed = (debt < limit.capacity or (debt == limit.capacity and part <= limit.full_part))
    if limit.cost == 0 and limit.price_part == 0 then return allowed end
    allowed = allowed and wait <= limit.max_wait
    if limit.start < 0 then return allowed, { a = debt < 0 and debt - now or debt + now, b = part }, max(now + debt + 1, -limit.start) end
    return allowed, { a = debt + now, b = part }, now + debt + 1, state.a + 1
  end

  -- `back`: when all of it has come back by itself.
  function greedy.refunded(state, back, back_part, price, price_part, n, is_queue)
    if back < now or state.a < now then return nil end
    if is_queue == 1 and (state.a ~= back or state.b ~= back_part) then return nil end
    local owed, owed_part = back - now, back_part
    if price < owed or (price == owed and price_part <= owed_part) then owed, owed_part = price, price_part end
    local instant, part = state.a - owed, state.b - owed_part
    if part < 0 then instant, part = instant - 1, part + n end
    if instant < now then return { a = now, b = 0 } end
    return { a = instant, b = part }
  end

  -- first: n, second: interval
  function greedy.available(g, state, at)
    local debt, part = 0, 0
    if state.a < 0 then
      debt = min(0, state.a + at)
      if state.a + at < 0 then part = state.b end
    else
      debt = max(0, state.a - at)
      if state.a >= at then part = state.b end
    end
    return g.capacity - ((debt + part / g.first) * g.first) / g.second
  end

  function greedy.state_with(g, tokens, at)
    return { a = at + max(0, ceil(((g.capacity - tokens) * g.second) / g.first)), b = 0 }
  end

  ALGORITHMS[0] = greedy
  ALGORITHMS[1] = setmetatable({ numbers = 2 }, { __index = greedy })

  ALGORITHMS[1].read = function(cost, capacity, start, position)
    local limit = greedy.read(cost, capacity, start, position)
    limit.with_parts = true
    limit.n, limit.price_part, limit.full_part, limit.start_part, limit.surplus, position = unpack_struct('<ddddd', requests, position)
    return limit, position
  end

  ALGORITHMS[7] = setmetatable({ numbers = 2 }, { __index = greedy })

  ALGORITHMS[7].read = function(cost, capacity, start, position)
    local limit
    limit, position = ALGORITHMS[1].read(cost, capacity, start, position)
    limit.max_wait, position = unpack_struct('<d', requests, position)
    return limit, position
  end
end
