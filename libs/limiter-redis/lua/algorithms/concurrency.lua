--[[
At most so many at once; concurrency.ts does the same.
Numbers  cost, limit; besides f64 the slot, how long it may be held
Former   how long a slot may be held, nothing
Text     packed: c, u32 generation, then for each slot f64 until when, f64 its name, f64 weight
]]
local SLOT = 24
local NOBODY = -1
-- A state: { slots = packed }.
local concurrency = { suffix = 's', names = { 'timeout', 'nothing' }, numbers = 4, keeps_state = true }

function concurrency.read(cost, capacity, position)
  local slot, timeout
  slot, timeout, position = unpack_struct('<dd', requests, position)
  return { cost = cost, capacity = capacity, slot = slot, timeout = timeout, started = 0, is_full_at_start = true }, position
end

function concurrency.started() return { slots = '' } end

function concurrency.exhausted(limit, at)
  return { slots = pack_struct('<ddd', at + limit.timeout, NOBODY, limit.capacity) }
end

function concurrency.parse(body)
  if #body % SLOT ~= 0 then return nil end
  return { slots = body }
end

function concurrency.text(generation, state) return 'c' .. pack_struct('<I4', generation) .. state.slots end

function concurrency.clamped(limit, state)
  local latest = now + limit.timeout
  local kept
  for at = 1, #state.slots, SLOT do
    local ends, name, weight = unpack_struct('<ddd', state.slots, at)
    if ends > latest then
      kept = kept or { sub(state.slots, 1, at - 1) }
      kept[#kept + 1] = pack_struct('<ddd', latest, name, weight)
    elseif kept then
      kept[#kept + 1] = sub(state.slots, at, at + SLOT - 1)
    end
  end
  return kept and { slots = concat(kept) } or state
end

-- Those that have not timed out, packed; what they weigh; and each with its end and weight.
local function alive(state, at)
  local kept, weight, list = {}, 0, {}
  for position = 1, #state.slots, SLOT do
    local ends, _, its_weight = unpack_struct('<ddd', state.slots, position)
    if ends > at then
      kept[#kept + 1] = sub(state.slots, position, position + SLOT - 1)
      weight = weight + its_weight
      list[#list + 1] = { ends, its_weight }
    end
  end
  return concat(kept), weight, list
end

function concurrency.take(limit, state)
  local slots, used, list = alive(state, now)
  local retry, reset = 0, 0
  for i = 1, #list do reset = max(reset, list[i][1] - now) end
  if used + limit.cost > limit.capacity then
    table.sort(list, function(a, b) return a[1] < b[1] end)
    local left = used
    for i = 1, #list do
      left = left - list[i][2]
      if left + limit.cost <= limit.capacity then
        retry = list[i][1] - now
        break
      end
    end
  end
  local allowed = used + limit.cost <= limit.capacity
  answer(used, allowed and 0 or retry, reset, max(reset, limit.timeout))
  if limit.cost == 0 then return allowed end
  return allowed, { slots = slots .. pack_struct('<ddd', now + limit.timeout, limit.slot, limit.cost) }
end

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
