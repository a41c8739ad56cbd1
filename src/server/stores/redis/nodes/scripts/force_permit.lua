-- Returns a permit of Redisson's semaphore: removes it from the sorted set and increments the
-- number of available permits.
-- KEYS[1] permits, KEYS[2] number of available permits; from ARGV[3] on the channels, each preceded
-- by its publish command.
if kind ~= 'zset' or not redis.call('ZSCORE', lock, owner) then return not_there() end
local counter = redis.call('TYPE', KEYS[2])['ok']
if counter ~= 'string' then return {-2, counter, left} end
local permits = redis.call('INCRBY', KEYS[2], 1)
redis.call('ZREM', lock, owner)
for n = 3, #ARGV, 2 do redis.pcall(ARGV[n], ARGV[n + 1], permits) end
return {1, '', left}
