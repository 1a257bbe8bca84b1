--[[
Buckets of every kind, and how they are written. Part of a script that has `unpack_struct`, `format`, `DIGITS` and `now`; to
take from them also `requests` and `answer`.

A state is a string: <generation><instant>, and behind it what the kind has besides an instant. The instant in microseconds has
sixteen digits; where the generation is 0 it is left out, and so are leading zeros. A greedy bucket has nothing besides, as a
rule, and Redis keeps it as an integer: it costs no string. A sliding log is packed instead and begins with L, the slots of a
concurrency limit with C.
]]
local sub, byte, match, gmatch = string.sub, string.byte, string.match, string.gmatch
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local pack_struct, concat = struct.pack, table.concat

-- By kind. Each reads its numbers (into a table made at once: one that grows is copied again and again), knows the state of a
-- bucket that was left alone since its limit started, says what a bucket holds and what becomes of it, gives back what a request
-- took (nil if there is nothing to give), and carries a bucket over an edit.
-- `take` returns whether the request passes here; the state after it, if it changes anything; when the bucket will be full then, and
-- when it would have been, as far as that is known from its state.
local ALGORITHMS = {}

--# include algorithms/greedy.lua
--# include algorithms/interval.lua
--# include algorithms/windows.lua
--# include algorithms/fixed-window.lua
--# include algorithms/sliding-counter.lua
--# include algorithms/sliding-log.lua
--# include algorithms/concurrency.lua
--# include algorithms/penalty.lua
local KIND_OF_SUFFIX = { [''] = 0, f = 1, i = 2, w = 3, c = 4, p = 8 }

-- The state and its generation; nil if it is no bucket of ours.
local function parse(value)
  if #value <= DIGITS then
    local instant = tonumber(value)
    if instant then return { a = instant, b = 0 }, 0 end
  end
  local first = byte(value)
  if first == 76 then return ALGORITHMS[5].parse(value) end -- L
  if first == 67 then return ALGORITHMS[6].parse(value) end -- C
  local sign, digits, rest, suffix = match(value, '^(%-?)(%d+)[%.:]?([%d,]*)([fiwcp]?)$')
  if not sign then return nil end
  if #digits <= DIGITS and sign == '' then return ALGORITHMS[KIND_OF_SUFFIX[suffix]].parse(tonumber(digits), rest), 0 end
  local instant = tonumber(sub(digits, -DIGITS))
  local state = ALGORITHMS[KIND_OF_SUFFIX[suffix]].parse(sign == '-' and -instant or instant, rest)
  return state, tonumber(sub(digits, 1, -DIGITS - 1)) or 0
end

-- An instant behind its generation.
local function with_generation(generation, instant)
  if generation == 0 then return format('%.0f', instant) end
  if instant < 0 then return format('-%d%016.0f', generation, -instant) end
  return format('%d%016.0f', generation, instant)
end
