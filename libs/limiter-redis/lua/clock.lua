-- Now, in microseconds: by this server, or as the caller says who brings a clock, which is a test. Part of a script that has `call`.
local now_us
if ARGV[1] == '' then
  local time = call('TIME')
  now_us = time[1] * 1000000 + time[2]
else
  now_us = tonumber(ARGV[1])
end
