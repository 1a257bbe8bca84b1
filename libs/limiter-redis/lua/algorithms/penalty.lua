--[[
Blocks a key that is refused too often; penalty.ts in the limiter does the same.
Take        f64 cost_tokens, capacity: the refusals with which the block begins; window_us, block_us, watches: how many limits right before it it
            watches; or, with a negative cost: that many refusals which nobody has told yet, and in place of watches how many microseconds
            ago the first of them was
Generation  nothing: edits of a penalty need no history
Reply       blocked_us, how long the block goes on; refusals in the window
Text        :<refusals>p behind the first refusal of the window; with 0, behind the end of the block
]]
-- A state: { refusals, at_us }: at_us is the first refusal of the window; with 0 refusals, the end of the block.
local penalty = { remembers_refusals = true }

function penalty.read(position)
  local cost_tokens, capacity, window_us, block_us, watches
  cost_tokens, capacity, window_us, block_us, watches, position = unpack_struct('<ddddd', requests, position)
  return {
    cost_tokens = cost_tokens, capacity = capacity, window_us = window_us, block_us = block_us, watches = watches, told = cost_tokens < 0,
    started_us = 0, is_full_at_start = true,
  }, position
end

function penalty.started() return { refusals = 0, at_us = 0 } end

function penalty.clamped(limit, state)
  local latest_us = state.refusals == 0 and now_us + limit.block_us or now_us
  return state.at_us > latest_us and { refusals = state.refusals, at_us = latest_us } or state
end

function penalty.parse(instant, rest) return { refusals = tonumber(rest) or 0, at_us = instant } end

function penalty.text(generation, state)
  return instant_and_amount(generation, state.at_us, state.refusals, 'p')
end

penalty.full = penalty.started

-- `refused_before`: how many buckets before it the last one stands that refused; `blocked_before`: that an operator has blocked.
function penalty.take(limit, state, refused_before, blocked_before)
  local blocked_us, refusals = 0, 0
  if state.refusals == 0 then
    blocked_us = max(0, state.at_us - now_us)
  elseif now_us < state.at_us + limit.window_us then
    refusals = state.refusals
  end
  answer(blocked_us, refusals)
  if blocked_us > 0 then return false end
  local count, first_us = 1, now_us
  if limit.told then
    count, first_us = -limit.cost_tokens, now_us - limit.watches
    -- They count if all of them belong to one window.
    if refusals > 0 then
      if first_us < state.at_us then return true end
    elseif first_us < (state.refusals == 0 and state.at_us or state.at_us + limit.window_us) or now_us >= first_us + limit.window_us then
      return true
    end
  elseif limit.cost_tokens == 0 or refused_before > limit.watches or blocked_before <= limit.watches then
    return true
  end
  if refusals + count >= limit.capacity then return true, { refusals = 0, at_us = now_us + limit.block_us } end
  return true, { refusals = refusals + count, at_us = refusals == 0 and first_us or state.at_us }
end

function penalty.full_at(limit, state) return state.refusals == 0 and state.at_us or state.at_us + limit.window_us end

function penalty.refunded() return nil end

return penalty
