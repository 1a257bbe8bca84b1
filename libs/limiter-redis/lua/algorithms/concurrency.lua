--[[
At most so many at once; concurrency.ts in the limiter does the same.
Take        f64 cost_tokens, capacity_tokens, slot: the name of the request; slot_timeout_us: how long it may hold its place
Generation  f64 slot_timeout_us
Refund      slot
Reply       see windows.lua
Text        packed: c, u32 generation, then for each slot f64 until when, f64 its name, f64 weight
]]
local SLOT = 24
local NOBODY = -1
-- A state: { slots }, packed.
local concurrency = { keeps_state = true }

function concurrency.read(position)
  local cost_tokens, capacity_tokens, slot, slot_timeout_us
  cost_tokens, capacity_tokens, slot, slot_timeout_us, position = unpack_struct('<dddd', requests, position)
  return {
    cost_tokens = cost_tokens, capacity_tokens = capacity_tokens, slot = slot, slot_timeout_us = slot_timeout_us, started_us = 0,
    is_full_at_start = true,
  }, position
end

function concurrency.read_generation(generation, position)
  generation.slot_timeout_us, position = unpack_struct('<d', requests, position)
  return position
end

function concurrency.started() return { slots = '' } end

function concurrency.exhausted(limit, at_us)
  return { slots = pack_struct('<ddd', at_us + limit.slot_timeout_us, NOBODY, limit.capacity_tokens) }
end

function concurrency.parse(body)
  if #body % SLOT ~= 0 then return nil end
  return { slots = body }
end

function concurrency.text(generation, state) return 'c' .. pack_struct('<I4', generation) .. state.slots end

function concurrency.clamped(limit, state)
  local latest_us = now_us + limit.slot_timeout_us
  local kept
  for at = 1, #state.slots, SLOT do
    local until_us, name, weight = unpack_struct('<ddd', state.slots, at)
    if until_us > latest_us then
      kept = kept or { sub(state.slots, 1, at - 1) }
      kept[#kept + 1] = pack_struct('<ddd', latest_us, name, weight)
    elseif kept then
      kept[#kept + 1] = sub(state.slots, at, at + SLOT - 1)
    end
  end
  return kept and { slots = concat(kept) } or state
end

-- Those that have not timed out, packed; what they weigh; and each with its end and weight.
local function alive(state, at_us)
  local kept, weight, list = {}, 0, {}
  for position = 1, #state.slots, SLOT do
    local until_us, _, its_weight = unpack_struct('<ddd', state.slots, position)
    if until_us > at_us then
      kept[#kept + 1] = sub(state.slots, position, position + SLOT - 1)
      weight = weight + its_weight
      list[#list + 1] = { until_us, its_weight }
    end
  end
  return concat(kept), weight, list
end

function concurrency.take(limit, state)
  local slots, used, list = alive(state, now_us)
  local retry_us, reset_us = 0, 0
  for i = 1, #list do reset_us = max(reset_us, list[i][1] - now_us) end
  if used + limit.cost_tokens > limit.capacity_tokens then
    table.sort(list, function(a, b) return a[1] < b[1] end)
    local left = used
    for i = 1, #list do
      left = left - list[i][2]
      if left + limit.cost_tokens <= limit.capacity_tokens then
        retry_us = list[i][1] - now_us
        break
      end
    end
  end
  local allowed = used + limit.cost_tokens <= limit.capacity_tokens
  answer(used, allowed and 0 or retry_us, reset_us, max(reset_us, limit.slot_timeout_us))
  if limit.cost_tokens == 0 then return allowed end
  return allowed, { slots = slots .. pack_struct('<ddd', now_us + limit.slot_timeout_us, limit.slot, limit.cost_tokens) }
end

concurrency.leaving = window_leaving

function concurrency.full_at(_, state)
  local last = 0
  for at = 1, #state.slots, SLOT do last = max(last, (unpack_struct('<d', state.slots, at))) end
  return last
end

function concurrency.refunded(state, slot)
  for at = 1, #state.slots, SLOT do
    local _, name = unpack_struct('<dd', state.slots, at)
    if name == slot then return { slots = sub(state.slots, 1, at - 1) .. sub(state.slots, at + SLOT) } end
  end
  return nil
end

function concurrency.missing(_, state, at)
  local _, used = alive(state, at)
  return used, 0, 1
end

function concurrency.state_missing() return { slots = '' } end

return concurrency
