-- Sets the lease of a lock if it still has this token. KEYS: the lock. ARGV: token, lease in
-- milliseconds. Returns 1, or 0 if the lock is gone or has another owner.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
return redis.call('pexpire', KEYS[1], ARGV[2])
