-- Deletes a string that has the owner's value, and notifies waiters.
-- KEYS[1] lock, KEYS[2] list on which waiters block, if any; from ARGV[3] on the channels, each
-- preceded by its publish command. The message is the lock's name.
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
