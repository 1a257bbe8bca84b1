--[[
Blocks a key that is refused too often; penalty.ts does the same.
Numbers  cost, refusals, nothing; besides f64 length of the window, of the block, how many limits right before it it watches
Reply    how long the block goes on, in microseconds; refusals in the window
Text     :<refusals>p behind the first refusal of the window; with 0, behind the end of the block
]]
do
  -- A state: { a = refusals, b = instant }.
  local penalty = { numbers = 2, remembers_refusals = true }

  function penalty.read(cost, refusals, _, position)
    local window, block, watches
    window, block, watches, position = unpack_struct('<ddd', requests, position)
    return { cost = cost, refusals = refusals, window = window, block = block, watches = watches }, position
  end

  function penalty.started() return { a = 0, b = 0 } end

  function penalty.parse(instant, rest) return { a = tonumber(rest) or 0, b = instant } end

  function penalty.text(generation, state, with_generation)
    return format('%s:%.0fp', with_generation(generation, state.b), state.a)
  end

  -- `refused_before`: how many buckets before it the last one stands that refused.
  function penalty.take(limit, state, refused_before)
    local blocked, refusals = 0, 0
    if state.a == 0 then
      blocked = min(max(0, state.b - now), limit.block)
    elseif now < state.b + limit.window then
      refusals = state.a
    end
    answer(blocked, refusals)
    if blocked > 0 then return false end
    if limit.cost == 0 or refused_before > limit.watches then return true end
    if refusals + 1 >= limit.refusals then return true, { a = 0, b = now + limit.block }, now + limit.block end
    local from = refusals == 0 and now or min(state.b, now)
    return true, { a = refusals + 1, b = from }, from + limit.window
  end

  ALGORITHMS[8] = penalty
end
