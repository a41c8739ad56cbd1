-- Checks which commands the user may call, without calling them.
-- ARGV: one command per argument, its words separated by newlines.
-- Returns 1 or 0 per command, or nil if the server does not support the check (before Redis 7).
if not redis.acl_check_cmd then return false end
local may = {}
for n, lines in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(lines, '[^\n]+') do words[#words + 1] = word end
  may[n] = redis.acl_check_cmd(unpack(words)) and 1 or 0
end
return may
