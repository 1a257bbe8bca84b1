--[[
Buckets of every kind, and how they are written. Part of a script that has `unpack_struct`, `format`, whole.lua and `now`; to
take from them also `requests`, `answer` and `ask_again`.

A state is a string: <generation><instant>, and behind it what the kind has besides an instant. The instant in microseconds has
sixteen digits; where the generation is 0 it is left out, and so are leading zeros. A greedy bucket has nothing besides, as a
rule, and Redis keeps it as an integer: it costs no string. A sliding log is packed instead and begins with l, the slots of a
concurrency limit with c (L and C: the same with a generation of two bytes, as it was written before). What is none of this counts as a missing
bucket; so does -, which preloading writes.

What an operator has blocked begins with B<until, sixteen digits>,<length>; and goes on as it would stand there without: both in microseconds.
No text of a block is as short as an instant, so the short way of take.lua never takes one for a number.
]]
local sub, byte, match, gmatch, rep = string.sub, string.byte, string.match, string.gmatch, string.rep
local pack_struct, concat = struct.pack, table.concat

--# include exact.lua

-- An instant behind its generation.
local function with_generation(generation, instant)
  if generation == 0 then return format(WHOLE, instant) end
  if instant < 0 then return format('-%.0f%016.0f', generation, -instant) end
  return format('%.0f%016.0f', generation, instant)
end

-- What most kinds write: an instant, one amount and the suffix of the kind.
local INSTANT_AND_AMOUNT = WHOLE .. ':' .. WHOLE .. '%s'
local function instant_and_amount(generation, instant, amount, suffix)
  if generation == 0 then return format(INSTANT_AND_AMOUNT, instant, amount, suffix) end
  return with_generation(generation, instant) .. format(':' .. WHOLE .. '%s', amount, suffix)
end

-- By kind. Each reads its numbers (into a table made at once: one that grows is copied again and again) and says, of a bucket with these
-- numbers or with former ones:
--   started(limit)              the state of one that was left alone since its limit started
--   clamped(limit, state)       the state as it may be now: the same table, unless it is from the future or worse than empty
--   take(limit, state, ...)     answers what it holds; whether the request passes here, and the state after it, if that is another
--   full_at(limit, state)       when nothing is missing any more: a bucket must live until then; nil if that is over, or not known
--   full(limit)                 the state of a full bucket, where state_missing needs more than these numbers
--   adjusted(limit, state, adds)  the state when an operator has added the cost, or taken it; nil where a bucket has no tokens
--   refunded(state, ...)        the state when a request has given back what it took; nil if there is nothing to give
--   missing(limit, state, at)   the amount that is missing at an instant
--   state_missing(limit, whole, part, of, at)  the state from which so much is missing
--   parse, text                 how it is written
-- A limit `lacks` something, or `is_full_at_start`, or starts with a surplus.
-- `suffix` tells its states from others, `names` says what its two numbers in former generations are.
local LOADERS = {}
local ALGORITHMS = setmetatable({}, {
  -- Most calls need one of them, and each consists of many functions.
  __index = function(algorithms, kind)
    local algorithm = LOADERS[kind]()
    algorithms[kind] = algorithm
    return algorithm
  end,
})

--# include algorithms/windows.lua

LOADERS[KIND.GREEDY] = function()
  --# include algorithms/greedy.lua
end
LOADERS[KIND.GREEDY_WITH_PARTS] = function()
  --# include algorithms/greedy-with-parts.lua
end
LOADERS[KIND.INTERVAL] = function()
  --# include algorithms/interval.lua
end
LOADERS[KIND.FIXED_WINDOW] = function()
  --# include algorithms/fixed-window.lua
end
LOADERS[KIND.SLIDING_COUNTER] = function()
  --# include algorithms/sliding-counter.lua
end
LOADERS[KIND.SLIDING_LOG] = function()
  --# include algorithms/sliding-log.lua
end
LOADERS[KIND.CONCURRENCY] = function()
  --# include algorithms/concurrency.lua
end
LOADERS[KIND.QUEUE] = function()
  --# include algorithms/queue.lua
end
LOADERS[KIND.PENALTY] = function()
  --# include algorithms/penalty.lua
end

local KIND_OF_SUFFIX = { f = KIND.GREEDY_WITH_PARTS, i = KIND.INTERVAL, w = KIND.FIXED_WINDOW, c = KIND.SLIDING_COUNTER, p = KIND.PENALTY }
local PACKED = {
  [byte('l')] = { KIND.SLIDING_LOG, '<I4', 4 }, [byte('L')] = { KIND.SLIDING_LOG, '<H', 2 },
  [byte('c')] = { KIND.CONCURRENCY, '<I4', 4 }, [byte('C')] = { KIND.CONCURRENCY, '<H', 2 },
}

-- The state, its generation, and the suffix of its kind; nil if it is no bucket of ours.
local function parse(value)
  local packed = PACKED[byte(value) or 0]
  if packed then
    local kind, number, size = packed[1], packed[2], packed[3]
    if #value < 1 + size then return nil end
    return ALGORITHMS[kind].parse(sub(value, 2 + size)), (unpack_struct(number, value, 2)), ALGORITHMS[kind].suffix
  end
  local sign, digits, rest, suffix = match(value, '^(%-?)(%d+)[%.:]?([%d,]*)([fiwcp]?)$')
  if not sign then return nil end
  if suffix == '' then suffix = 'f' end
  local generation, instant = 0, digits
  if #digits > DIGITS then generation, instant = tonumber(sub(digits, 1, -DIGITS - 1)), sub(digits, -DIGITS) end
  instant = tonumber(instant)
  return ALGORITHMS[KIND_OF_SUFFIX[suffix]].parse(sign == '-' and -instant or instant, rest), generation, suffix
end

-- A bucket's text as it would stand there without a block, and the block as it may be now, if there is one: until when, its length, and
-- whether it was cut, because the clock stepped back.
local function without_block(value)
  if byte(value) ~= 66 then return value end -- B
  local till, length, behind = match(value, '^B(%d+),(%d+);()')
  if not till then return value end
  till, length = tonumber(till), tonumber(length)
  return sub(value, behind), { till = min(till, now + length), length = length, was_cut = till > now + length }
end

-- A bucket's text behind its block. Of a block that is over, a bucket that is written keeps nothing.
local function with_block(block, text)
  if not block or block.till <= now then return text end
  return format('B%016.0f,%.0f;', block.till, block.length) .. text
end
