--[[
At most so many at once; concurrency.ts does the same.
Numbers  cost, limit, nothing; besides f64 the slot, how long it may be held
Text     packed: C, u16 generation, then for each slot f64 until when, f64 its name, f64 weight
]]
do
  local HEAD, SLOT = 3, 24
  -- A state: { slots = packed }.
  local concurrency = { numbers = 4, keeps_state = true }

  function concurrency.read(cost, capacity, _, position)
    local slot, timeout
    slot, timeout, position = unpack_struct('<dd', requests, position)
    return { cost = cost, capacity = capacity, slot = slot, timeout = timeout }, position
  end

  function concurrency.started() return { slots = '' } end

  function concurrency.empty(limit)
    return { slots = pack_struct('<ddd', now + limit.timeout, -1, limit.capacity) }
  end

  function concurrency.parse(value)
    if (#value - HEAD) % SLOT ~= 0 or #value < HEAD then return nil end
    return { slots = sub(value, HEAD + 1) }, (unpack_struct('<H', value, 2))
  end

  function concurrency.text(generation, state) return 'C' .. pack_struct('<H', generation) .. state.slots end

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
    local ends = now + limit.timeout
    return allowed, { slots = slots .. pack_struct('<ddd', ends, limit.slot, limit.cost) }, max(ends, now + reset), reset > 0 and now + reset or -1
  end

  function concurrency.refunded(state, slot)
    for at = 1, #state.slots, SLOT do
      local _, name = unpack_struct('<dd', state.slots, at)
      if name == slot then return { slots = sub(state.slots, 1, at - 1) .. sub(state.slots, at + SLOT) } end
    end
    return nil
  end

  function concurrency.available(g, state, at)
    local _, used = alive(state, at)
    return g.capacity - used
  end

  function concurrency.state_with() return { slots = '' } end

  ALGORITHMS[6] = concurrency
end
