--[[
Purpose    Gives back what requests took: slots at the end of a response, or everything, as if a request had never come.
Guarantee  Nobody has more than if the request had not come: what has come back by itself is not given back, nor what an edit has
           carried over. Freeing a slot is harmless to repeat; other refunds are the caller's to send once. How long a bucket
           lives does not change, and a block goes on.

KEYS  the buckets, each once
ARGV  1  now in microseconds, '' for TIME
      2  what was taken, packed little-endian, one after the other:
           u8 kind, as in take.lua     u16 index of the bucket in KEYS     u32 generation
           six f64, of which each kind needs some: see Refund in its file in algorithms/
         or, in place of a kind, RETRY: then the index is that of the request's mark, see retries.lua, the generation is how many of
         those that follow are given back only if no retry of the request has passed, and the first f64 is when it was taken, in microseconds
Reply  how many buckets were changed
]]
local call, unpack_struct, format = redis.call, struct.unpack, string.format

--# include wire
--# include whole.lua
--# include clock.lua
local requests, answer, ask_again = nil, nil, nil -- only for takes

--# include buckets.lua

local stored = call('MGET', unpack(KEYS))
local changed, given = {}, 0
local position = 1
while position <= #ARGV[2] do
  local kind, index, generation, a, b, c, d, e, f
  kind, index, generation, a, b, c, d, e, f, position = unpack_struct('<BHI4dddddd', ARGV[2], position)
  if kind == RETRY.KIND then
    -- Given back only once, and not if a retry went by: what was taken is for that one.
    if stored[index] == format('%.0f:0', a) then
      stored[index], changed[index] = '-', true
    else
      position = position + generation * RETRY.REFUND_LENGTH
    end
  else
    local algorithm = ALGORITHMS[kind]
    local text, block, state, written, text_kind
    if stored[index] then
      text, block = without_block(stored[index])
      state, written, text_kind = parse(text)
    end
    -- Slots live on over an edit.
    if state and text_kind == algorithm.text_kind and (written == generation or algorithm.keeps_state) then
      local after = algorithm.refunded(state, a, b, c, d, e, f)
      if after then
        stored[index] = with_block(block, algorithm.text(written, after))
        changed[index] = true
        given = given + 1
      end
    end
  end
end
for index in pairs(changed) do call('SET', KEYS[index], stored[index], 'KEEPTTL') end
return given
