-- Which commands this user may call, without calling any of them.
-- ARGV: each a command with its arguments, one argument to a line.
-- Answers 1 or 0 for each, or nothing where the server cannot tell (before Redis 7).
if not redis.acl_check_cmd then return false end
local may = {}
for n, lines in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(lines, '[^\n]+') do words[#words + 1] = word end
  may[n] = redis.acl_check_cmd(unpack(words)) and 1 or 0
end
return may
