-- Takes or refreshes a permit of npm's redis-semaphore. KEYS[1] the permits; ARGV[1] whose, ARGV[2] now, ARGV[3] how many there
-- are (0: only refresh), ARGV[4] how long one lasts. Answers 1 where it has one now.
local expired = tonumber(ARGV[2]) - tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', expired)
local has_one = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not has_one and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
