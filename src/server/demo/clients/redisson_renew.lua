-- Sets the lease of a Redisson lock if it still has this owner, like the watchdog. KEYS: the lock.
-- ARGV: field of the owner, lease in milliseconds. Returns 1, or 0 if the lock is gone or has
-- another owner.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return 0
end
return redis.call('pexpire', KEYS[1], ARGV[2])
