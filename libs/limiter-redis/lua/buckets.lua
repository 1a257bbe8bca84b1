--[[
Buckets of every kind, and how they are written. Part of a script that has `unpack_struct`, `format`, whole.lua and `now_us`; to
take from them also `requests`, `answer` and `ask_again`.

A state is a string: <generation><instant>, and behind it what the kind has besides an instant. The instant in microseconds has
sixteen digits; where the generation is 0 it is left out, and so are leading zeros. A greedy bucket has nothing besides, as a
rule, and Redis keeps it as an integer: it costs no string. A sliding log is packed instead and begins with l, the slots of a
concurrency limit with c (L and C: the same with a generation of two bytes, as it was written before). What is none of this counts as a missing
bucket; so does -, which preloading writes.

What an operator has blocked begins with B<until, sixteen digits>,<length>; and goes on as it would stand there without: both in microseconds.
No text of a block is as short as an instant, so the short way of take.lua never takes one for a number. What is lent of a bucket stands behind
that: see leases.lua.
]]
local sub, byte, lower, match, gmatch, rep = string.sub, string.byte, string.lower, string.match, string.gmatch, string.rep
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
--   read(position)              the numbers of a limit, as a request for it tells them, and the position behind them
--   read_generation(g, position)  adds the numbers of a generation to it; returns the position behind them
--   started(limit)              the state of one that was left alone since its limit started
--   clamped(limit, state)       the state as it may be now: the same table, unless it is from the future or worse than empty
--   take(limit, state, ...)     answers what it holds; whether the request passes here, and the state after it, if that is another
--   leaving(limit, ...)         what of the limit is different for a request that has to leave so much: see take.lua
--   full_at(limit, state)       when nothing is missing any more: a bucket must live until then; nil if that is over, or not known
--   full(limit)                 the state of a full bucket, where state_missing needs more than these numbers
--   adjusted(limit, state, adds)  the state when an operator has added the cost, or taken it; nil where a bucket has no tokens
--   refunded(state, ...)        the state when a request has given back what it took; nil if there is nothing to give
--   missing(g, state, at_us)    the amount that is missing at an instant
--   state_missing(g, whole, part, of, at_us)  the state from which so much is missing
--   occupied(g, state, tokens, at_us)  the state at an instant if so many tokens at least are missing, because they are lent; nil where none can be
--   costing(limit, tokens)      what of the limit is different for a request of another cost, where tokens can be lent
--   leases_end_us(limit, state)  when all that is missing comes back at once; nil where it comes back little by little
--   parse, text                 how it is written
-- Of a bucket that `lends_by_time` the state is an instant, and what is lent of it must be told in time.
-- A limit `lacks` something, or `is_full_at_start`, or starts with a surplus. Besides, each has text_kind, by which its states are told from
-- others, and reply_length: these and the list of all stand in algorithms/index.ts.
local LOADERS, TEXT_KIND, REPLY_LENGTH, KIND_OF_SUFFIX, KIND_OF_PREFIX = {}
local ALGORITHMS = setmetatable({}, {
  -- Most calls need one of them, and each consists of many functions.
  __index = function(algorithms, kind)
    local algorithm = LOADERS[kind]()
    algorithm.text_kind, algorithm.reply_length = TEXT_KIND[kind], REPLY_LENGTH[kind]
    algorithms[kind] = algorithm
    return algorithm
  end,
})

--# include algorithms/windows.lua
--# include algorithms

-- The state, its generation, and the kind of its text; nil if it is no bucket of ours.
local function parse(value)
  local letter = sub(value, 1, 1)
  local kind, number, size = KIND_OF_PREFIX[letter], '<I4', 4
  if not kind then kind, number, size = KIND_OF_PREFIX[lower(letter)], '<H', 2 end
  if kind then
    if #value < 1 + size then return nil end
    return ALGORITHMS[kind].parse(sub(value, 2 + size)), (unpack_struct(number, value, 2)), kind
  end
  local sign, digits, rest, suffix = match(value, '^(%-?)(%d+)[%.:]?([%d,]*)(%l?)$')
  kind = KIND_OF_SUFFIX[suffix]
  if not kind then return nil end
  local generation, instant = 0, digits
  if #digits > DIGITS then generation, instant = tonumber(sub(digits, 1, -DIGITS - 1)), sub(digits, -DIGITS) end
  instant = tonumber(instant)
  return ALGORITHMS[kind].parse(sign == '-' and -instant or instant, rest), generation, kind
end

-- A bucket's text as it would stand there without a block, and the block as it may be now, if there is one: until when, its length, and
-- whether it was cut, because the clock stepped back.
local function without_block(value)
  if byte(value) ~= 66 or sub(value, 1, 3) == 'B0,' then return value end -- B; leases begin in the other way
  local until_us, length_us, behind = match(value, '^B(%d+),(%d+);()')
  if not until_us then return value end
  until_us, length_us = tonumber(until_us), tonumber(length_us)
  return sub(value, behind), { until_us = min(until_us, now_us + length_us), length_us = length_us, was_cut = until_us > now_us + length_us }
end

-- A bucket's text behind its block. Of a block that is over, a bucket that is written keeps nothing.
local function with_block(block, text)
  if not block or block.until_us <= now_us then return text end
  return format('B%016.0f,%.0f;', block.until_us, block.length_us) .. text
end

--# include leases.lua
