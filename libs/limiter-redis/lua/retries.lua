--[[
Requests whose retries are known: a retry of a request that was charged is not charged again. Part of general-buckets.lua.

In front of such a request stands
     u8 RETRY   u16 index of its mark in KEYS   u32 index of the counter of marks   f64 for_s, most_retries, most_marks
     f64 bytes of the request as a retry takes it, f64 bytes of it as any other does; and then both
A mark is <when it was charged, in microseconds>:<retries that have passed>; - where the charge was given back. A counter is <slice of time>:<marks in it>.
]]
local function may_mark(counter, for_s, most_marks)
  local slice = format('%.0f', math.floor(now_us / (for_s * 1000000)))
  local of_slice, count = string.match(stored[counter] or '', '^(%d+):(%d+)$')
  count = of_slice == slice and tonumber(count) or 0
  if count >= most_marks then return false end
  stored[counter] = slice .. ':' .. format('%.0f', count + 1)
  return true
end

local function take_retryable(position)
  local _, mark, counter, for_s, most_retries, most_marks, retry_length, length, after = unpack_struct('<BHI4ddddd', requests, position)
  local taken_us, retries = string.match(stored[mark] or '', '^(%d+):(%d+)$')
  retries = tonumber(retries or '')
  local is_retry = retries and retries < most_retries or false
  answer(is_retry and RETRY.RETRIED or RETRY.CHARGED)
  local first_reply = replies
  if take_request(is_retry and after or after + retry_length) then
    marks = marks or {}
    if is_retry then
      stored[mark], marks[mark] = taken_us .. ':' .. format('%.0f', retries + 1), marks[mark] or -1
    elseif not retries and may_mark(counter, for_s, most_marks) then
      stored[mark], marks[mark], marks[counter] = format('%.0f:0', now_us), for_s, for_s
      reply[first_reply] = RETRY.MARKED
    end
  end
  return after + retry_length + length
end
