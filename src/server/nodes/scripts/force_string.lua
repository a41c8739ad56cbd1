-- Deletes a string that has the owner's value, and tells those who wait for it.
-- KEYS[1] the lock, KEYS[2] the list that its waiters block on, if there is one; from ARGV[3] on the channels, each behind
-- the command that publishes there: the lock's name is the message.
if kind ~= 'string' then return not_there() end
local start = redis.call('GETRANGE', lock, 0, math.max(#owner, 512))
if start ~= owner then return {-1, start:sub(1, 513), left} end
if is_later() then return another_hold end
if KEYS[2] then
  redis.call('DEL', KEYS[2])
  redis.call('LPUSH', KEYS[2], 1)
  redis.call('PEXPIRE', KEYS[2], 1000)
end
redis.call('DEL', lock)
for n = 3, #ARGV, 2 do redis.pcall(ARGV[n], ARGV[n + 1], lock) end
return {1, '', left}
