-- Part of a script that has `call` and `own`.

-- Adds to a member of a rank that has at most so many members: who comes new takes the place and the count of the least (space-saving,
-- Metwally, Agrawal, El Abbadi 2005).
local function add_to_rank(rank, most, member, count)
  local is_new = not own(rank, 'ZSCORE', member)
  if is_new and call('ZCARD', rank) >= most then
    local least = call('ZRANGE', rank, 0, 0, 'WITHSCORES')
    call('ZREM', rank, least[1])
    count = count + least[2]
  end
  call('ZINCRBY', rank, count, member)
end
