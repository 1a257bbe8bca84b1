-- Exact arithmetic for amounts of tokens; amount.ts does the same with larger integers. Numbers are whole and not negative.

local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max

-- floor(a * b / c) and what is left of the division. a, b and the quotient are below 2^53, c is at most 2^45: then no step of the
-- long division, which takes seven bits of b at a time, leaves the whole numbers of a double.
local function mul_div(a, b, c)
  local product = a * b
  if product <= 9007199254740992 then
    local rest = product % c
    return (product - rest) / c, rest
  end
  local whole = floor(a / c)
  local quotient_of_whole = whole * b
  a = a - whole * c
  local quotient, rest, unit = 0, 0, 562949953421312 -- 2^49
  while unit >= 1 do
    local digit = floor(b / unit)
    b = b - digit * unit
    rest = rest * 128 + a * digit
    local times = floor(rest / c)
    quotient, rest = quotient * 128 + times, rest - times * c
    unit = unit / 128
  end
  return quotient + quotient_of_whole, rest
end

-- An amount of tokens is three numbers: whole, part, of: whole + part / of tokens. What is missing from a bucket, as an edit carries
-- it over; negative for a surplus.

-- The tokens that come back in a debt of time: debt microseconds and part n-ths of one, at n tokens every interval.
local function tokens_of_debt(debt_us, part, n, interval_us)
  local quotient, rest = mul_div(math.abs(debt_us), n, interval_us)
  local over = (debt_us < 0 and -rest or rest) + part
  local carry = floor(over / interval_us)
  return (debt_us < 0 and -quotient or quotient) + carry, over - carry * interval_us, interval_us
end

-- The debt in which so many tokens come back, rounded up: microseconds, and n-ths of one.
local function debt_of_tokens(whole, part, of, n, interval_us)
  local debt_us, parts = mul_div(whole, interval_us, n)
  local fraction, rest = mul_div(part, interval_us, of)
  parts = parts + fraction + (rest > 0 and 1 or 0)
  local carry = floor(parts / n)
  return debt_us + carry, parts - carry * n
end

-- amount * times / by, rounded up to the next of-th of a token; the amount is at most `by`.
local function scaled(whole, part, of, times, by)
  local tokens, left = mul_div(whole, times, by)
  local fraction, fraction_left = mul_div(part, times, of)
  left = left + fraction
  local carried = floor(left / by)
  local parts, parts_left = mul_div(left - carried * by, of, by)
  parts = parts + ceil((parts_left + fraction_left) / by)
  local full = floor(parts / of)
  return tokens + carried + full, parts - full * of, of
end

-- What is missing after an edit; carry-over.ts says why.
local function missing_after_edit(on_edit, whole, part, of, capacity_tokens, new_capacity_tokens)
  if on_edit == ON_EDIT.RESET then return 0, 0, 1 end
  if on_edit == ON_EDIT.PROPORTIONAL then
    if whole >= capacity_tokens then return new_capacity_tokens, 0, 1 end
    if whole < 0 then return 0, 0, 1 end
    return scaled(whole, part, of, new_capacity_tokens, capacity_tokens)
  end
  local grown = new_capacity_tokens - capacity_tokens
  whole = whole + (on_edit == ON_EDIT.AS_IS and grown or min(0, grown))
  if whole < 0 then return 0, 0, 1 end
  return whole, part, of
end
