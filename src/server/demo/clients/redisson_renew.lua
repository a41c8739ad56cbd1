-- Sets the lease of a Redisson lock that is still ours, as the watchdog does.
-- KEYS: the lock. ARGV: field of the owner, lease in milliseconds.
-- Answers 1, or 0 when it is another's or gone.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return 0
end
return redis.call('pexpire', KEYS[1], ARGV[2])
