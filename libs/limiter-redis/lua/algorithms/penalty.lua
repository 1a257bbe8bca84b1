--[[
Blocks a key that is refused too often; penalty.ts does the same.
Numbers  cost, refusals; besides f64 length of the window, of the block, how many limits right before it it watches
         or, with a negative cost: that many refusals which nobody has told yet, and in place of the last one how long ago the first of them was
Reply    how long the block goes on, in microseconds; refusals in the window
Text     :<refusals>p behind the first refusal of the window; with 0, behind the end of the block
]]
-- A state: { a = refusals, b = instant }.
local penalty = { suffix = 'p', names = { 'nothing', 'nothing' }, numbers = 2, remembers_refusals = true }

function penalty.read(cost, refusals, position)
  local window, block, watches
  window, block, watches, position = unpack_struct('<ddd', requests, position)
  return { cost = cost, refusals = refusals, window = window, block = block, watches = watches, told = cost < 0, started = 0, is_full_at_start = true }, position
end

function penalty.started() return { a = 0, b = 0 } end

function penalty.clamped(limit, state)
  local latest = state.a == 0 and now + limit.block or now
  return state.b > latest and { a = state.a, b = latest } or state
end

function penalty.parse(instant, rest) return { a = tonumber(rest) or 0, b = instant } end

function penalty.text(generation, state)
  return instant_and_amount(generation, state.b, state.a, 'p')
end

penalty.full = penalty.started

-- `refused_before`: how many buckets before it the last one stands that refused; `blocked_before`: that an operator has blocked.
function penalty.take(limit, state, refused_before, blocked_before)
  local blocked, refusals = 0, 0
  if state.a == 0 then
    blocked = max(0, state.b - now)
  elseif now < state.b + limit.window then
    refusals = state.a
  end
  answer(blocked, refusals)
  if blocked > 0 then return false end
  local count, first = 1, now
  if limit.told then
    count, first = -limit.cost, now - limit.watches
    -- They count if all of them belong to one window.
    if refusals > 0 then
      if first < state.b then return true end
    elseif first < (state.a == 0 and state.b or state.b + limit.window) or now >= first + limit.window then
      return true
    end
  elseif limit.cost == 0 or refused_before > limit.watches or blocked_before <= limit.watches then
    return true
  end
  if refusals + count >= limit.refusals then return true, { a = 0, b = now + limit.block } end
  return true, { a = refusals + count, b = refusals == 0 and first or state.b }
end

function penalty.full_at(limit, state) return state.a == 0 and state.b or state.b + limit.window end

function penalty.refunded() return nil end

return penalty
