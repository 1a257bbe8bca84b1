-- A bucket that is asked for, as it was packed and as it is stored. Part of a script that has buckets.lua and carry-over.lua.

local band = bit.band

-- One bucket as it was packed, and the position behind it. `more` if the next one belongs to the same request.
local function read_bucket(position)
  local flags, index, generation, limit, generations
  flags, index, generation, position = unpack_struct('<BHI4', requests, position)
  local algorithm = ALGORITHMS[flags % 16]
  limit, position = algorithm.read(position)
  local from_us, until_us, fills_after_us, leaves, leaves_part
  if index >= INDEX.LEAVING then
    if index >= INDEX.TIMED then
      index = index - INDEX.TIMED
      from_us, until_us, fills_after_us, position = unpack_struct('<ddd', requests, position)
    end
    if index >= INDEX.LEAVING then
      index = index - INDEX.LEAVING
      leaves, leaves_part, position = unpack_struct('<dd', requests, position)
    end
  end
  if band(flags, FLAG.FORMER_FOLLOW) ~= 0 then generations, position = read_generations(position) end
  return {
    index = index, generation = generation, algorithm = algorithm, limit = limit, generations = generations,
    from_us = from_us, until_us = until_us, fills_after_us = fills_after_us, leaves = leaves, leaves_part = leaves_part,
    is_bypassed = band(flags, FLAG.BYPASSED) ~= 0, has_former = band(flags, FLAG.HAS_FORMER) ~= 0, more = band(flags, FLAG.MORE) ~= 0,
  }, position
end

-- The limit as the request finds it: with so much less in it as it has to leave.
local function takable_limit(bucket)
  local limit, leaves = bucket.limit, bucket.leaves
  if not leaves then return limit end
  return setmetatable(bucket.algorithm.leaving(limit, leaves, bucket.leaves_part), { __index = limit })
end

-- When a bucket is as full as one that nobody touched; nil if that is over, or not known.
local function settled_at(bucket, state)
  local algorithm, limit = bucket.algorithm, bucket.limit
  local at = algorithm.full_at(limit, state)
  if not limit.is_full_at_start then at = max(at or 0, algorithm.full_at(limit, algorithm.started(limit)) or 0) end
  return at
end

-- Whether the numbers of a bucket hold now. What a bucket was written with holds for it also before it should: then the clock stepped back.
local function is_in_force(bucket, written)
  return now_us < bucket.until_us and (now_us >= bucket.from_us or written == bucket.generation)
end

-- What look_up says, without a block, of a bucket that was never lent since the last edit.
local function look_at(bucket, leases, state, written, text_kind)
  local algorithm, limit, generation = bucket.algorithm, bucket.limit, bucket.generation
  if bucket.until_us and not is_in_force(bucket, state and written) then return SENTINEL.STALE end
  if not state or (written == generation and (text_kind ~= algorithm.text_kind or (algorithm.fits and not algorithm.fits(limit, state)))) then
    -- What is no bucket of ours is treated as missing, and overwritten by the next take.
    state = algorithm.started(limit)
    return state, now_us < limit.started_us and limit.lacks, -1
  end
  if written > generation then return SENTINEL.STALE end
  if written == generation then
    local shown = algorithm.clamped(limit, state)
    if shown ~= state then return shown, true, -1 end
    return state, false, now_us < limit.started_us and -1 or settled_at(bucket, state) or -1
  end
  if bucket.has_former and not bucket.generations then return SENTINEL.AGAIN end
  state = bucket.generations and carried_over(bucket.generations, written, state, text_kind, leases) or algorithm.started(limit)
  return algorithm.clamped(limit, state), true, -1
end

-- How fast tokens of a bucket come back, where what is lent of it has to be told in time; false if that has to be asked for.
local function knows_rate(bucket, leases, written)
  local limit, generations = bucket.limit, bucket.generations
  if not bucket.algorithm.lends_by_time then return true end
  if generations then
    limit.interval_us = generations[#generations].interval_us
  elseif written == bucket.generation and leases.n == limit.n then
    limit.interval_us = leases.interval_us
  end
  return limit.interval_us ~= nil
end

-- The state of a bucket whose refill was held up by leases; those that are not over become the bucket's.
local function look_at_lent(bucket, leases, state, written, text_kind)
  local found, must_write = look_at(bucket, leases, state, written, text_kind)
  if found == SENTINEL.STALE or found == SENTINEL.AGAIN then return found end
  if not knows_rate(bucket, leases, state and written) then return SENTINEL.AGAIN end
  local later, generations = leases, bucket.generations
  if state and written ~= bucket.generation then
    -- Leases that were over before the last edit have held up the refill under the numbers before it.
    later = afterwards(leases, min(generations and generations[#generations].started_us or bucket.limit.started_us, now_us))
  end
  local occupied = occupied_until(bucket.algorithm, bucket.limit, found, later, now_us)
  local running = afterwards(leases, now_us)
  bucket.leases = running
  return occupied, must_write or leases.is_mended or occupied ~= found or running ~= leases, -1
end

-- The state of a bucket as its present numbers see it now; whether it has to be written, whoever takes; and when it would have been full,
-- or -1 if that is not known. In place of a state STALE or AGAIN. A block that is not over becomes the bucket's, and so do leases.
local function look_up(bucket, text)
  if not text then return look_at(bucket) end
  local block, leases
  text, block = without_block(text)
  text, leases = without_leases(text)
  local state, must_write, before
  if leases then state, must_write, before = look_at_lent(bucket, leases, parse(text)) else state, must_write, before = look_at(bucket, nil, parse(text)) end
  if not block then return state, must_write, before end
  if block.until_us > now_us then bucket.block = block end
  if block.was_cut then must_write, before = true, -1 end
  return state, must_write, before
end

-- What is written of a bucket that has this state, and until when it must live.
local function as_written(bucket, state)
  local text, ends = bucket.algorithm.text(bucket.generation, state), max(now_us, settled_at(bucket, state) or now_us)
  -- When other numbers follow before it is full, it lives until it is full by these.
  if bucket.until_us and ends > bucket.until_us then ends = max(ends, bucket.until_us + bucket.fills_after_us) end
  local leases, block = bucket.leases, bucket.block
  if leases then
    if bucket.algorithm.lends_by_time then leases.n, leases.interval_us = bucket.limit.n, bucket.limit.interval_us end
    text, ends = with_leases(leases, text), max(ends, leases[#leases].end_us)
  end
  if not block then return text, ends end
  return with_block(block, text), max(ends, block.until_us)
end
