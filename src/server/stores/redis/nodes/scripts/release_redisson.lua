-- Releases Redisson's lock, and notifies one waiter per instance and the head of the fair queue.
-- KEYS[1] lock, KEYS[2] key that stores the result of this request, if it can be repeated; ARGV[1]
-- owner field, ARGV[2] `once`: one hold, `all`: the remains of a failed acquire, `leave`: only the
-- queue entry; ARGV[3] now, ARGV[4] how long the caller waited in the queue (empty if it did not),
-- ARGV[5] queue, ARGV[6] deadlines, ARGV[7] TTL of the stored result in ms, from ARGV[8] on the
-- channels, each preceded by its publish command.
-- Queue and channels are not passed in KEYS: a user without access to them can still release the
-- lock, but no waiter is notified.
-- Returns {1 released | 2 still held, '', hold count | 0 missing | -3 held by another owner | -2
-- other type, value or type, PTTL}.
local lock, field, how, now, queue, deadlines = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[5], ARGV[6]

local function leave()
  local has_left = false
  for _, waiter in ipairs(redis.call('LRANGE', queue, 0, -1)) do
    if has_left then
      redis.call('ZADD', deadlines, 'XX', 'INCR', -ARGV[4], waiter)
    elseif waiter == field then
      has_left = true
    end
  end
  redis.call('LREM', queue, 0, field)
  return redis.call('ZREM', deadlines, field) == 1 or has_left
end

local function wake()
  if redis.call('EXISTS', lock) == 1 then return end
  local may_look, head = pcall(head_of, queue, deadlines, now)
  for n = 8, #ARGV, 2 do
    redis.pcall(ARGV[n], ARGV[n + 1], '0')
    if may_look and head then redis.pcall(ARGV[n], ARGV[n + 1] .. ':' .. head, '0') end
  end
end

local told = KEYS[2] and redis.call('GET', KEYS[2])
if told then return {told == '0' and 1 or 2, '', tonumber(told)} end
local has_left = ARGV[4] ~= '' and leave()
if how == 'leave' then
  if has_left then wake() end
  return {has_left and 1 or 0, '', 0}
end
local kind, left = redis.call('TYPE', lock)['ok'], redis.call('PTTL', lock)
local holds = kind == 'hash' and holds_of(lock, field)
if not holds then
  if has_left then
    wake()
    return {1, '', left}
  end
  if kind == 'none' then return {0, '', 0} end
  if kind ~= 'hash' then return {-2, kind, left} end
  return not_the_callers(lock, field, left)
end
holds = how == 'once' and holds - 1 or 0
if holds > 0 then
  -- The lease is kept: it was granted to the first entry, and reentry never shortened it.
  redis.call('HINCRBY', lock, field, -1)
elseif redis.call('HLEN', lock) == 1 then
  redis.call('DEL', lock)
else
  redis.call('HDEL', lock, field)
end
-- If the server is out of memory, the lock is still released; only a repeated request would then be
-- counted twice.
if KEYS[2] then redis.pcall('SET', KEYS[2], holds, 'PX', ARGV[7]) end
if holds > 0 then return {2, '', holds} end
wake()
return {1, '', left}
