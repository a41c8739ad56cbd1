-- Acquires or refreshes a permit of redis-semaphore (npm). KEYS: the permits. ARGV: owner, current
-- time, number of permits (0: refresh only), lease in milliseconds. Returns 1 if the owner has a
-- permit.
local expired = tonumber(ARGV[2]) - tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', expired)
local has_one = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not has_one and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
