-- Takes Redisson's RLock or, with a queue, its RFairLock, or enters it once more, and raises the fence beside it.
-- KEYS[1] the lock, then of a fair one the queue and the deadlines, last the fence if it has one; ARGV[1] the owner's field,
-- ARGV[2] the lease in milliseconds, ARGV[3] 1 if entering again counts, ARGV[4] now, ARGV[5] for how long the caller waits in
-- line, ARGV[6] the counter that an RFencedLock has, ARGV[7] 1 if that counts for the whole group, ARGV[8] for how
-- much longer the caller waits in line than was known when it came, ARGV[9] the fence proposed, ARGV[10] for how many
-- milliseconds it is remembered.
-- Answers {2 taken | 1 the caller's already | -1 or -3 somebody else's | -2 of another type, …, the fence or the PTTL}.
local lock, field, wait = KEYS[1], ARGV[1], tonumber(ARGV[5])
local queue, deadlines = nil, nil
if #KEYS > 2 then queue, deadlines = KEYS[2], KEYS[3] end
local fence_key, fence = ARGV[9] and KEYS[#KEYS], 0
-- No KEY: whoever may not read it has no lock of that kind, as far as anybody can tell.
local counter = fence_key and redis.pcall('GET', ARGV[6])
local is_fenced = type(counter) == 'string'
-- Resources know the tokens of that counter. Those of several servers' counters cannot be compared.
if is_fenced and ARGV[7] ~= '1' then return {-2, 'an RFencedLock, whose tokens one server counts, and this group has several', 0} end
if is_fenced then
  fence_key = nil
elseif fence_key then
  -- Read first: a fence that is no number ends the script before anything is written.
  local last = tonumber(redis.call('GET', fence_key) or 0)
  if not last or last >= 9007199254740991 then return redis.error_reply('ERR the fence beside this lock is no number to count on') end
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
  -- Whoever entered before was promised its lease: it never becomes shorter by this.
  redis.call('PEXPIRE', lock, math.max(left, tonumber(ARGV[2])))
elseif kind == 'none' and (not head or head == field) then
  took = 2
  -- Does nothing yet: whoever may not set a lease is told before there is a lock without one.
  redis.call('PEXPIRE', lock, ARGV[2])
  if is_fenced then fence = redis.call('INCR', ARGV[6]) end
  if head then
    redis.call('LPOP', queue)
    redis.call('ZREM', deadlines, field)
    -- The others' turn comes sooner by what this one would have waited at most.
    for _, other in ipairs(redis.call('ZRANGE', deadlines, 0, -1)) do redis.call('ZINCRBY', deadlines, -wait, other) end
  end
  redis.call('HSET', lock, field, 1)
  redis.call('PEXPIRE', lock, ARGV[2])
else
  local stands = queue and redis.call('ZSCORE', deadlines, field)
  if stands and tonumber(ARGV[8]) > 0 then
    -- The turn of all behind comes later by as much.
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
  -- Nobody holds it: it is somebody else's turn.
  if kind == 'none' then return {-3, head:sub(1, 513), left} end
  return not_the_callers(lock, field, left)
end
if fence_key then redis.call('SET', fence_key, string.format('%.0f', fence), 'PX', ARGV[10]) end
return {took, '', fence}
