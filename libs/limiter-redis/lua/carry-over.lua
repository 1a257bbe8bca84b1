-- Buckets that were written before an edit; carry-over.ts does the same. Part of a script that has buckets.lua.

-- The numbers of a limit from the oldest that is remembered to the present ones.
local function read_generations(position)
  local count
  count, position = unpack_struct('<B', requests, position)
  local generations = {}
  for i = 1, count do
    local g = {}
    local first, second
    g.generation, g.kind, g.on_edit, g.capacity, g.started, first, second, position = unpack_struct('<I4BBdddd', requests, position)
    local algorithm = ALGORITHMS[g.kind]
    g.algorithm = algorithm
    g[algorithm.names[1]], g[algorithm.names[2]] = first, second
    if algorithm.read_former then position = algorithm.read_former(g, position) end
    if i > 1 then generations[i - 1].next_started = g.started end
    generations[i] = g
  end
  return generations, position
end

-- A state and the place of its numbers among the generations, carried over each later edit at its time.
local function carried_along(generations, from, state)
  for i = from, #generations - 1 do
    local g, successor = generations[i], generations[i + 1]
    if not (g.algorithm == successor.algorithm and g.algorithm.keeps_state) then
      local at = min(successor.started, now)
      local whole, part, of = g.algorithm.missing(g, state, at)
      whole, part, of = missing_after_edit(successor.on_edit, whole, part, of, g.capacity, successor.capacity)
      state = successor.algorithm.state_missing(successor, whole, part, of, at)
    end
  end
  return state
end

local function exhausted(g, at)
  if g.algorithm.exhausted then return g.algorithm.exhausted(g, at) end
  return g.algorithm.state_missing(g, g.capacity, 0, 1, at)
end

local function carried_over(generations, generation, state, suffix)
  for i = 1, #generations - 1 do
    local g = generations[i]
    if g.generation == generation and g.algorithm.suffix == suffix and (not g.algorithm.fits or g.algorithm.fits(g, state)) then
      return carried_along(generations, i, state)
    end
  end
  -- Older than all that is remembered: empty at worst when the oldest of these numbers came into force.
  return carried_along(generations, 1, exhausted(generations[1], min(generations[1].started, now)))
end
