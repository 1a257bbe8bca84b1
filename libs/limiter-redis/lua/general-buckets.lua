-- Requests for buckets of any kinds, one or more: returns the function that takes for one. Part of take.lua.

-- The windows that were sent are not those of now.
local wants_again = false
local function ask_again() wants_again = true end

-- The numbers of a reply, as many as the kind has.
local function answer(a, b, c, d)
  reply[replies + 1], reply[replies + 2], reply[replies + 3], reply[replies + 4] = a, b, c, d
  replies = replies + (d and 4 or b and 2 or 1)
end

--# include buckets.lua
--# include carry-over.lua
--# include look-up.lua

-- What stands there as a string.
local function stored_text(index)
  local held = instants[index]
  if held then
    stored[index], instants[index] = format(WHOLE, held), nil
    if changed[index] then
      full_at[index], full_before[index], changed[index] = held, changed[index], nil
    end
  end
  return stored[index]
end

-- What is written of a request: in any case, if it passes, and if it does not. Three for each bucket: bucket, state, and when it would
-- have been full. Lists that are used again for each request; `n` says how far.
local mended, if_passed, if_refused = { n = 0 }, { n = 0 }, { n = 0 }

local function note(list, bucket, state, before)
  local n = list.n
  list[n + 1], list[n + 2], list[n + 3] = bucket, state, before
  list.n = n + 3
end

local function keep(list)
  for i = 1, list.n, 3 do
    local bucket, state = list[i], list[i + 1]
    local index = bucket.index
    stored[index], full_at[index] = as_written(bucket, state)
    full_before[index] = full_before[index] or list[i + 2]
  end
end

-- Of the request: whether it passes, how many buckets were asked, and which of them refused last, and was blocked last.
local passes, asked, last_refusal, last_block

local function answer_nothing(algorithm, first)
  answer(first)
  for _ = 2, algorithm.reply_length do answer(0) end
end

local function take(bucket, state, before)
  asked = asked + 1
  local algorithm = bucket.algorithm
  local allowed, after = false, nil
  if bucket.block then
    answer_nothing(algorithm, SENTINEL.BLOCKED - (bucket.block.until_us - now_us))
    last_block = asked
  else
    allowed, after = algorithm.take(takable_limit(bucket), state, asked - last_refusal, asked - last_block)
  end
  if not allowed then
    if bucket.is_bypassed and not bucket.block then return end
    passes, last_refusal = false, asked
  end
  if not after then return end
  local list = algorithm.remembers_refusals and if_refused or if_passed
  -- What was refused before is written whatever becomes of this request, which is none.
  note(bucket.limit.told and mended or list, bucket, after, before)
end

-- Returns whether it passes, and the position behind it.
local function take_request(position)
  local first_reply, problem, more = replies + 1, nil, true
  passes, asked, last_refusal, last_block = true, 0, -math.huge, -math.huge
  mended.n, if_passed.n, if_refused.n, wants_again = 0, 0, 0, false
  while more do
    local bucket, state, must_write, before
    bucket, position = read_bucket(position)
    more = bucket.more
    if not problem and not wants_again then state, must_write, before = look_up(bucket, stored_text(bucket.index)) end
    if wants_again then state = SENTINEL.AGAIN end
    if state == SENTINEL.STALE or state == SENTINEL.AGAIN then problem = state end
    if problem then
      answer_nothing(bucket.algorithm, 0)
    else
      if must_write then note(mended, bucket, state, before) end
      take(bucket, state, before)
    end
  end
  if problem then
    reply[first_reply] = problem
  else
    keep(mended)
    keep(passes and if_passed or if_refused)
  end
  return passes and not problem, position
end

--# include retries.lua

return function(position)
  if byte(requests, position) == RETRY.KIND then return take_retryable(position) end
  local _, after = take_request(position)
  return after
end
