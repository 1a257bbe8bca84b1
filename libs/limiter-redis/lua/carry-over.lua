-- Buckets that were written before an edit; carry-over.ts does the same. Part of a script that has buckets.lua.

-- The numbers of a limit from the oldest that is remembered to the present ones.
local function read_generations(position)
  local count
  count, position = unpack_struct('<B', requests, position)
  local generations = {}
  for i = 1, count do
    local g = {}
    g.generation, g.kind, g.on_edit, g.capacity_tokens, g.started_us, position = unpack_struct('<I4BBdd', requests, position)
    g.algorithm = ALGORITHMS[g.kind]
    position = g.algorithm.read_generation(g, position)
    if i > 1 then generations[i - 1].next_started_us = g.started_us end
    generations[i] = g
  end
  return generations, position
end

-- A state and the place of its numbers among the generations, carried over each later edit at its time; what is lent is lent on.
local function carried_along(generations, from, state, leases)
  for i = from, #generations - 1 do
    local g, successor = generations[i], generations[i + 1]
    local at_us = min(successor.started_us, now_us)
    state, leases = occupied_until(g.algorithm, g, state, leases, at_us), leases and afterwards(leases, at_us)
    if not (g.kind == successor.kind and g.algorithm.keeps_state) then
      local whole, part, of = g.algorithm.missing(g, state, at_us)
      whole, part, of = missing_after_edit(successor.on_edit, whole, part, of, g.capacity_tokens, successor.capacity_tokens)
      state = successor.algorithm.state_missing(successor, whole, part, of, at_us)
    end
  end
  return state
end

local function exhausted(g, at_us)
  if g.algorithm.exhausted then return g.algorithm.exhausted(g, at_us) end
  return g.algorithm.state_missing(g, g.capacity_tokens, 0, 1, at_us)
end

-- Nil if nothing is remembered of former numbers, because by now a bucket of theirs would be full.
local function carried_over(generations, generation, state, text_kind, leases)
  if #generations == 1 then return nil end
  for i = 1, #generations - 1 do
    local g = generations[i]
    if g.generation == generation and g.algorithm.text_kind == text_kind and (not g.algorithm.fits or g.algorithm.fits(g, state)) then
      return carried_along(generations, i, state, leases)
    end
  end
  -- Older than all that is remembered: empty at worst when the oldest of these numbers came into force.
  return carried_along(generations, 1, exhausted(generations[1], min(generations[1].started_us, now_us)), leases)
end
