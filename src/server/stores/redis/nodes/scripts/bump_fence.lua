-- Raises the fencing counter of a lock to the token that its owner was given, if the owner still
-- holds the lock.
-- KEYS[1] lock, KEYS[2] counter; ARGV[1] token (for Redisson: owner field), ARGV[2] fencing token,
-- ARGV[3] TTL of the counter in ms, ARGV[4] signature of a legacy lock's owner, empty for other
-- locks.
-- Returns the counter's value, or 0 if the owner no longer holds the lock.
local kind = redis.call('TYPE', KEYS[1])['ok']
local is_ours = false
if kind == 'string' then
  local value = redis.call('GETRANGE', KEYS[1], 0, math.max(#ARGV[1], 512))
  -- When the same owner reacquires a legacy lock for a shorter time, the later timestamp stays.
  is_ours = value == ARGV[1] or (ARGV[4] and ARGV[4] ~= '' and is_signed(value, ARGV[4]) and redis.call('PTTL', KEYS[1]) < 0)
elseif kind == 'hash' then
  is_ours = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
end
if not is_ours then return 0 end
local last = tonumber(redis.call('GET', KEYS[2]) or 0)
if not last then return redis.error_reply('ERR the fencing counter of this lock is not a usable number') end
local fence = math.max(tonumber(ARGV[2]), last)
redis.call('SET', KEYS[2], string.format('%.0f', fence), 'PX', ARGV[3])
return fence
