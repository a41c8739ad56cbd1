-- Acquires a Redisson lock, or re-enters it. KEYS: the lock. ARGV: field of the owner, lease in
-- milliseconds. Returns 1, or 0 if another owner holds it.
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return 0
end
redis.call('hincrby', KEYS[1], ARGV[1], 1)
return redis.call('pexpire', KEYS[1], ARGV[2])
