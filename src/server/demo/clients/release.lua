-- Deletes a lock that is still ours.
-- KEYS: the lock. ARGV: token.
-- Answers 1, or 0 when it is another's or gone.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
return redis.call('del', KEYS[1])
