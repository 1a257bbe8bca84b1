--[[
Purpose    Adds to what became of merchants' requests, by rule and minute, and keeps the ranks of those that refused most or were nearly at
           their limit.
Guarantee  The same counts are added once, however often they are sent. A hash has at most MOST_FIELDS rules, a rule one entry a minute, a
           rank MOST_RANKED members; each key is gone when its time to live is over. What is no count of ours is overwritten. A member of the
           rank of refusals that is missing for lack of room has refused no more than the least that is there, and one that came late may be
           overestimated by as much (space-saving, Metwally, Agrawal, El Abbadi 2005).

KEYS  1  the number of the last counts of this gateway
      2  the rank of refusals     3  the rank of those close to their limit
      4  a hash for each merchant: rule -> ;<minute>,<passed>,<refused>,<refused by a shadow rule>,<least share that remained, in percent> ...
ARGV  1  the number of these counts     2  minute of the hour     3  time to live in seconds     4  the same for the number of the last counts
      5  of each merchant: its id, '' if it has no rank, and how many rules follow; of each rule its id and the four numbers
Reply 1; 0 if these counts were there already
]]
local MOST_FIELDS = 300
local MOST_RANKED = 1000
-- No rule has more: what is longer was not written here.
local MOST_CHARACTERS = 4096
local NEAR_PERCENT = 50

local call, find, match, sub = redis.call, string.find, string.match, string.sub
local minute, ttl = ARGV[2], ARGV[3]

--# include own-key.lua
--# include space-saving.lua

local function added(text, passed, refused, shadow, least)
  local before, behind = text, ''
  local from = find(text, ';' .. minute .. ',', 1, true)
  if from then
    local to = find(text, ';', from + 1, true) or #text + 1
    before, behind = sub(text, 1, from - 1), sub(text, to)
    local p, r, s, l = match(sub(text, from, to - 1), '^;%d+,(%d+),(%d+),(%d+),(%d+)$')
    -- No gateway counts that far: a longer number was not written here.
    if p and #p <= 15 and #r <= 15 and #s <= 15 and #l <= 3 then
      passed, refused, shadow, least = passed + p, refused + r, shadow + s, math.min(least, tonumber(l))
    end
  end
  return string.format('%s;%s,%.0f,%.0f,%.0f,%d%s', before, minute, passed, refused, shadow, least, behind)
end

local function rank_near(member, least)
  local before = own(KEYS[3], 'ZSCORE', member)
  if before and tonumber(before) <= least then return end
  call('ZADD', KEYS[3], least, member)
  call('ZREMRANGEBYRANK', KEYS[3], MOST_RANKED, -1)
end

if tonumber(own(KEYS[1], 'GET') or 0) >= tonumber(ARGV[1]) then return 0 end

local at = 5
for i = 4, #KEYS do
  local key, id, rules = KEYS[i], ARGV[at], tonumber(ARGV[at + 1])
  at = at + 2
  for _ = 1, rules do
    local rule = ARGV[at]
    local passed, refused, shadow, least =
      tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
    at = at + 5
    local field = rule
    local text = own(key, 'HGET', field)
    if not text and call('HLEN', key) >= MOST_FIELDS then
      field = 'other'
      text = call('HGET', key, field)
    end
    if not text or #text > MOST_CHARACTERS then text = '' end
    call('HSET', key, field, added(text, passed, refused, shadow, least))
    if id ~= '' and refused > 0 then add_to_rank(KEYS[2], MOST_RANKED, id .. ' ' .. rule, refused) end
    if id ~= '' and refused == 0 and least <= NEAR_PERCENT then rank_near(id .. ' ' .. rule, least) end
  end
  call('EXPIRE', key, ttl)
end
call('EXPIRE', KEYS[2], ttl)
call('EXPIRE', KEYS[3], ttl)
call('SET', KEYS[1], ARGV[1], 'EX', ARGV[4])
return 1
