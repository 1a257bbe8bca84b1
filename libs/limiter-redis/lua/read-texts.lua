--[[
Purpose    Reads many texts at once, each as if it were asked for alone.

KEYS  of the texts
ARGV  1  index of the last byte that is read of each
Reply the texts, in the order of KEYS; an error in place of what is no text, '' for what is not there
]]
local texts = {}
for i, key in ipairs(KEYS) do
  texts[i] = redis.pcall('GETRANGE', key, 0, ARGV[1])
end
return texts
