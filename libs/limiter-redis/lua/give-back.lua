-- Gives back to buckets what stands in `packed`, see refund.lua: in `stored`, the texts of the buckets by their index. Says which of them are changed, how many
-- times something was given, and of how many buckets the numbers are others since. Part of a script that has buckets.lua.
local function give_back(packed, stored)
  local changed, given, edited = {}, 0, 0
  local position = 1
  while position <= #packed do
    local kind, index, generation, a, b, c, d, e, f
    kind, index, generation, a, b, c, d, e, f, position = unpack_struct('<BHI4dddddd', packed, position)
    if kind == RETRY.KIND then
      -- Given back only once, and not if a retry went by: what was taken is for that one.
      if stored[index] == format('%.0f:0', a) then
        stored[index], changed[index] = '-', true
      else
        position = position + generation * RETRY.REFUND_LENGTH
      end
    else
      local algorithm = ALGORITHMS[kind]
      local text, block, lent, state, written, text_kind
      if stored[index] then
        text, block = without_block(stored[index])
        -- What is lent need not be understood: whoever looks next fills the bucket only as far as that allows.
        local _, behind = digits_of_leases(text)
        lent, text = sub(text, 1, (behind or 1) - 1), sub(text, behind or 1)
        state, written, text_kind = parse(text)
      end
      -- Slots live on over an edit.
      if state and text_kind == algorithm.text_kind and (written == generation or algorithm.keeps_state) then
        local after = algorithm.refunded(state, a, b, c, d, e, f)
        if after then
          stored[index] = with_block(block, lent .. algorithm.text(written, after))
          changed[index] = true
          given = given + 1
        end
      elseif state then
        edited = edited + 1
      end
    end
  end
  return changed, given, edited
end
