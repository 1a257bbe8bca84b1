-- How whole numbers are written. Part of a script that has `format`.

-- An instant in microseconds has so many digits.
local DIGITS = 16
-- Where the machine's integers have 64 bits, as on every real Redis, this is by far the faster format.
local WHOLE = format('%d', 1e15) == '1000000000000000' and '%d' or '%.0f'
