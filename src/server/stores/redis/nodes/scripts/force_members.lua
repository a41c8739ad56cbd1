-- Removes an owner's members from a sorted set, and leaves those of other owners.
-- ARGV[2] first member, ARGV[3] highest observed score (empty if it proves nothing), ARGV[4] marker
-- removed with them (empty for none), ARGV[5] 1 if the key expires with its last member, from
-- ARGV[6] on further members.
if kind ~= 'zset' then return not_there() end
local is_there = false
for n = 2, #ARGV do
  local score = (n == 2 or n > 5) and redis.call('ZSCORE', lock, ARGV[n])
  if score then
    is_there = true
    if ARGV[3] ~= '' and tonumber(score) > tonumber(ARGV[3]) then return another_hold end
  end
end
if not is_there then return not_there() end
redis.call('ZREM', lock, owner, unpack(ARGV, 6))
if ARGV[4] ~= '' then redis.call('ZREM', lock, ARGV[4]) end
local last = ARGV[5] == '1' and redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2]
if last then redis.call('PEXPIREAT', lock, string.format('%.0f', tonumber(last))) end
return {1, '', left}
