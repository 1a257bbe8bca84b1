--[[
Counts in windows that follow one another; fixed-window.ts does the same.
Numbers  cost, limit, used at the start; besides f64 start, length of a window: negative if the first request opens it, 0 with
         a calendar, which only the caller knows: then f64 four boundaries, of the window of now and those beside it
Text     :<used>w behind the start of the window
]]
do
  -- A state: { a = used, b = start of the window }.
  local window = { numbers = 4 }

  function window.read(cost, capacity, start, position)
    local start_at, length
    start_at, length, position = unpack_struct('<dd', requests, position)
    local limit = { cost = cost, capacity = capacity, start = start, start_at = start_at, length = length, from = now, to = now }
    if length == 0 then
      local before, begins, ends, after
      before, begins, ends, after, position = unpack_struct('<dddd', requests, position)
      if now < begins then
        limit.from, limit.to = before, begins
      elseif now < ends then
        limit.from, limit.to = begins, ends
      else
        limit.from, limit.to = ends, after
      end
    elseif length > 0 then
      limit.from = floor(now / length) * length
      limit.to = limit.from + length
    end
    return limit, position
  end

  function window.started(limit) return { a = limit.start, b = limit.start_at } end

  function window.empty(limit) return { a = limit.capacity, b = limit.from } end

  function window.parse(instant, rest) return { a = tonumber(rest) or 0, b = instant } end

  function window.text(generation, state, with_generation)
    return format('%s:%.0fw', with_generation(generation, state.b), state.a)
  end

  function window.take(limit, state)
    local used, from, to = state.a, limit.from, limit.to
    if limit.length < 0 then
      local running = used > 0 and now < state.b - limit.length
      from = running and min(state.b, now) or now
      to = from - limit.length
      if not running then used = 0 end
    elseif state.b < from then
      used = 0
    end
    local left = to - now
    local allowed = window_answer(limit, used, left, left, left)
    if limit.cost == 0 then return allowed end
    return allowed, { a = used + limit.cost, b = from }, to, state.b == from and to or -1
  end

  function window.refunded(state, from, cost, has_opened)
    if state.b ~= from or (has_opened == 1 and state.a > cost) then return nil end
    return { a = max(0, state.a - cost), b = from }
  end

  -- first: length; next_window: the start of the window in which the next generation begins
  function window.available(g, state, at)
    local used = state.a
    if g.first < 0 then
      if used == 0 or at >= state.b - g.first then used = 0 end
    else
      local from = g.first > 0 and floor(at / g.first) * g.first or g.next_window
      if state.b < from then used = 0 end
    end
    return g.capacity - used
  end

  function window.state_with(g, tokens, at)
    local from = at
    if g.first > 0 then from = floor(at / g.first) * g.first elseif g.first == 0 then from = g.window end
    return { a = max(0, g.capacity - floor(tokens)), b = from }
  end

  ALGORITHMS[3] = window
end
