-- Removes a job from the hash of the holders of a digest, as sidekiq-unique-jobs does on unlock:
-- with the last job, the digest and its metadata are deleted, and a client blocked on the queue is
-- woken.
-- ARGV[3] observed value, ARGV[4] digest, from ARGV[5] on the sorted sets that list it.
if kind ~= 'hash' then return not_there() end
local value = redis.call('HGET', lock, owner)
if not value then return not_there() end
if value ~= ARGV[3] then return another_hold end
local digest = ARGV[4]
redis.call('LPUSH', digest .. ':QUEUED', 1)
redis.call('PEXPIRE', digest .. ':QUEUED', 5000)
redis.call('HDEL', lock, owner)
if redis.call('EXISTS', lock) == 0 then
  redis.pcall('DEL', digest, digest .. ':PRIMED', digest .. ':INFO')
  for n = 5, #ARGV do redis.pcall('ZREM', ARGV[n], digest) end
end
return {1, '', left}
