-- Acquires a Redisson fair lock or joins its queue. KEYS: the lock, the queue, the deadlines. ARGV:
-- owner, lease in milliseconds, deadline of the wait. Returns 1 if the lock is acquired.
local head = redis.call('LINDEX', KEYS[2], 0)
if redis.call('EXISTS', KEYS[1]) == 0 and (not head or head == ARGV[1]) then
  redis.call('LREM', KEYS[2], 0, ARGV[1])
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('HSET', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 1
end
if not redis.call('ZSCORE', KEYS[3], ARGV[1]) then redis.call('RPUSH', KEYS[2], ARGV[1]) end
redis.call('ZADD', KEYS[3], ARGV[3], ARGV[1])
return 0
