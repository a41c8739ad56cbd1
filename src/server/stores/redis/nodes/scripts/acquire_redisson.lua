-- Acquires Redisson's RLock or, with a queue, its RFairLock, or enters it once more, and increments
-- the fencing counter.
-- KEYS[1] lock, then for a fair lock the queue and the deadlines, last the fencing counter, if any;
-- ARGV[1] owner field, ARGV[2] lease in ms, ARGV[3] 1 if the hold is counted on reentry, ARGV[4]
-- now, ARGV[5] how long the caller waits in the queue, ARGV[6] the counter of an RFencedLock,
-- ARGV[7] 1 if that counter covers the whole group, ARGV[8] by how much the caller's wait was
-- extended after it joined, ARGV[9] proposed fencing token, ARGV[10] TTL of the counter in ms.
-- Returns {2 acquired | 1 already held by the caller | -1 or -3 held by another owner | -2 other
-- type, value or type, fencing token or PTTL}.
local lock, field, wait = KEYS[1], ARGV[1], tonumber(ARGV[5])
local queue, deadlines = nil, nil
if #KEYS > 2 then queue, deadlines = KEYS[2], KEYS[3] end
local fence_key, fence = ARGV[9] and KEYS[#KEYS], 0
-- Not passed in KEYS: a user without access to it can still acquire locks that have no such
-- counter.
local counter = fence_key and redis.pcall('GET', ARGV[6])
local is_fenced = type(counter) == 'string'
-- Resources compare tokens of this counter. The counters of several servers are not comparable.
if is_fenced and ARGV[7] ~= '1' then return {-2, 'an RFencedLock, whose counter is per server, in a group of several servers', 0} end
if is_fenced then
  fence_key = nil
elseif fence_key then
  -- Read first: an invalid counter must end the script before anything is written.
  local last = tonumber(redis.call('GET', fence_key) or 0)
  if not last or last >= 9007199254740991 then return redis.error_reply('ERR the fencing counter of this lock is not a usable number') end
  fence = math.max(tonumber(ARGV[9]), last + 1)
end
local kind, left = redis.call('TYPE', lock)['ok'], redis.call('PTTL', lock)
if kind == 'string' then return {-1, redis.call('GETRANGE', lock, 0, 512), left} end
if kind ~= 'none' and kind ~= 'hash' then return {-2, kind, left} end
local head = queue and head_of(queue, deadlines, ARGV[4])
local took
if kind == 'hash' and holds_of(lock, field) then
  took = 1
  if is_fenced then fence = redis.call('INCR', ARGV[6]) end
  if ARGV[3] == '1' then redis.call('HINCRBY', lock, field, 1) end
  -- The lease is never shortened: the earlier holder relies on it.
  redis.call('PEXPIRE', lock, math.max(left, tonumber(ARGV[2])))
elseif kind == 'none' and (not head or head == field) then
  took = 2
  -- No effect yet: if PEXPIRE is denied, the script fails here, before it creates a lock without a
  -- lease.
  redis.call('PEXPIRE', lock, ARGV[2])
  if is_fenced then fence = redis.call('INCR', ARGV[6]) end
  if head then
    redis.call('LPOP', queue)
    redis.call('ZREM', deadlines, field)
    -- The other waiters' turns come earlier by the time this one could have waited.
    for _, other in ipairs(redis.call('ZRANGE', deadlines, 0, -1)) do redis.call('ZINCRBY', deadlines, -wait, other) end
  end
  redis.call('HSET', lock, field, 1)
  redis.call('PEXPIRE', lock, ARGV[2])
else
  local stands = queue and redis.call('ZSCORE', deadlines, field)
  if stands and tonumber(ARGV[8]) > 0 then
    -- The turns of all waiters behind come later by the same time.
    local is_behind = false
    for _, waiter in ipairs(redis.call('LRANGE', queue, 0, -1)) do
      is_behind = is_behind or waiter == field
      if is_behind then redis.call('ZADD', deadlines, 'XX', 'INCR', ARGV[8], waiter) end
    end
  elseif queue and wait > 0 and not stands then
    local last = redis.call('LINDEX', queue, -1)
    local turn = last and redis.call('ZSCORE', deadlines, last) or ARGV[4] + math.max(left, 0)
    redis.call('ZADD', deadlines, turn + wait, field)
    redis.call('RPUSH', queue, field)
  end
  -- The lock is free, but another waiter is first in the queue.
  if kind == 'none' then return {-3, head:sub(1, 513), left} end
  return not_the_callers(lock, field, left)
end
if fence_key then redis.call('SET', fence_key, string.format('%.0f', fence), 'PX', ARGV[10]) end
return {took, '', fence}
