-- Gives a permit of Redisson's semaphore back: out of the sorted set, and one more is left.
-- KEYS[1] the permits, KEYS[2] how many are left; from ARGV[3] on the channels, each behind the command that
-- publishes there.
if kind ~= 'zset' or not redis.call('ZSCORE', lock, owner) then return not_there() end
local counter = redis.call('TYPE', KEYS[2])['ok']
if counter ~= 'string' then return {-2, counter, left} end
local permits = redis.call('INCRBY', KEYS[2], 1)
redis.call('ZREM', lock, owner)
for n = 3, #ARGV, 2 do redis.pcall(ARGV[n], ARGV[n + 1], permits) end
return {1, '', left}
