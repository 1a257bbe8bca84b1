-- What Redis 6.2 to 8 offers to a script.
std = "lua51"
read_globals = { "redis", "cjson", "cmsgpack", "struct", "bit", "KEYS", "ARGV" }
max_line_length = false
ignore = {
  "211", -- a script does not use everything that it includes
  "311", -- assigned and never read
}
