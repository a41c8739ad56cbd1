-- Acquires a legacy timestamp lock that is absent or expired, or extends it if the caller holds it,
-- and increments its fencing counter. The caller's own timestamp is only replaced by a later one.
-- KEYS[1] lock, KEYS[2] fencing counter, if any; ARGV[1] value to write, ARGV[2] its signature,
-- ARGV[3] now in seconds, ARGV[4] 1 if an expired timestamp under this name is a lock, ARGV[5]
-- proposed fencing token, ARGV[6] TTL of the counter in ms.
-- Returns {2 acquired | 1 extended | -1 held by another owner | -2 other type, value or type,
-- fencing token or PTTL}.
local fence = 0
if KEYS[2] then
  -- Read first: an invalid counter must end the script before anything is written.
  local last = tonumber(redis.call('GET', KEYS[2]) or 0)
  if not last or last >= 9007199254740991 then return redis.error_reply('ERR the fencing counter of this lock is not a usable number') end
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
    -- Clients that use milliseconds would read our seconds as a timestamp in 1970, and treat the
    -- lock as expired.
    return {-2, 'a timestamp in milliseconds', left}
  elseif left >= 0 or not moment(value) or moment(value) >= now then
    return {-1, value, left}
  elseif ARGV[4] ~= '1' and not value:match('%.%d%d%d%d%d%d%d%d%d$') then
    -- A timestamp that records when something last happened, not a lock.
    return {-1, value, left}
  end
end
-- Written in any case: a read-only server, such as a replica, must return an error.
redis.call('SET', KEYS[1], written)
if KEYS[2] then redis.call('SET', KEYS[2], string.format('%.0f', fence), 'PX', ARGV[6]) end
return {took, '', fence}
