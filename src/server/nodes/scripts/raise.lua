-- Raises the fence beside a lock to what its owner was given, if the lock is still the owner's.
-- KEYS[1] the lock, KEYS[2] the fence; ARGV[1] the token (of Redisson's hash: the field), ARGV[2] the value, ARGV[3] for
-- how many milliseconds it is remembered, ARGV[4] the sign of a legacy lock's owner, nothing for any other lock.
-- Answers the fence as it stands then, or 0 if the lock is not the owner's any more.
local kind = redis.call('TYPE', KEYS[1])['ok']
local is_ours = false
if kind == 'string' then
  local value = redis.call('GETRANGE', KEYS[1], 0, math.max(#ARGV[1], 512))
  -- A later moment of the same owner stays when it takes a legacy lock again for a shorter time.
  is_ours = value == ARGV[1] or (ARGV[4] and ARGV[4] ~= '' and is_signed(value, ARGV[4]) and redis.call('PTTL', KEYS[1]) < 0)
elseif kind == 'hash' then
  is_ours = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
end
if not is_ours then return 0 end
local last = tonumber(redis.call('GET', KEYS[2]) or 0)
if not last then return redis.error_reply('ERR the fence beside this lock is no number to count on') end
local fence = math.max(tonumber(ARGV[2]), last)
redis.call('SET', KEYS[2], string.format('%.0f', fence), 'PX', ARGV[3])
return fence
