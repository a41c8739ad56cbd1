-- Deletes Redisson's RLock if its only owner is the expected one, and wakes one waiter of each instance, as RLock.forceUnlock does.
-- KEYS[1] the lock; ARGV[1] the owner's field, ARGV[2] the channel: not a key, because ACLs check keys and channels apart.
-- Answers {1 released | 0 not there | -1 somebody else's | -2 of another type, an owner's field or the type, its PTTL}.
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return {0, '', 0} end
local left = redis.call('PTTL', KEYS[1])
if kind ~= 'hash' then return {-2, kind, left} end
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  -- Several fields are several owners: deleting the key would take the lock from all of them.
  if field ~= ARGV[1] then return {-1, field, left} end
end
redis.call('DEL', KEYS[1])
-- Without permission to publish the lock is free all the same; waiters then find out when the lease they saw is over.
redis.pcall('PUBLISH', ARGV[2], '0')
return {1, '', left}
