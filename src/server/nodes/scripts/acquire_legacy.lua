-- Takes a legacy lock that nobody holds or whose moment is past, or extends it if it is the caller's, and raises its fence.
-- The caller's own moment is only replaced by a later one.
-- KEYS[1] the lock, KEYS[2] its fence if it has one; ARGV[1] the value to write, ARGV[2] its sign, ARGV[3] now in seconds,
-- ARGV[4] 1 where a past moment under this name is a lock, ARGV[5] the fence proposed, ARGV[6] for how many milliseconds it is
-- remembered.
-- Answers {2 taken | 1 extended | -1 somebody else's | -2 of another type, its value or type, the fence or the PTTL}.
local fence = 0
if KEYS[2] then
  -- Read first: a fence that is no number ends the script before anything is written.
  local last = tonumber(redis.call('GET', KEYS[2]) or 0)
  if not last or last >= 9007199254740991 then return redis.error_reply('ERR the fence beside this lock is no number to count on') end
  fence = math.max(tonumber(ARGV[5]), last + 1)
end
local took, now, written = 2, tonumber(ARGV[3]), ARGV[1]
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind ~= 'none' then
  local left = redis.call('PTTL', KEYS[1])
  if kind ~= 'string' then return {-2, kind, left} end
  local value = redis.call('GETRANGE', KEYS[1], 0, 512)
  if left < 0 and is_signed(value, ARGV[2]) then
    took = 1
    if moment(value) > moment(ARGV[1]) then written = value end
  elseif left < 0 and value:match('^%d%d%d%d%d%d%d%d%d%d%d%d%d$') and tonumber(value) < now * 1000 then
    -- Those who read milliseconds would take our seconds for a moment of 1970, and the lock at once.
    return {-2, 'a moment in milliseconds', left}
  elseif left >= 0 or not moment(value) or moment(value) >= now then
    return {-1, value, left}
  elseif ARGV[4] ~= '1' and not value:match('%.%d%d%d%d%d%d%d%d%d$') then
    -- Somebody's note of when something happened last.
    return {-1, value, left}
  end
end
-- Written in any case: a server that may not write, such as a replica, has to say so.
redis.call('SET', KEYS[1], written)
if KEYS[2] then redis.call('SET', KEYS[2], string.format('%.0f', fence), 'PX', ARGV[6]) end
return {took, '', fence}
