-- Shared code of the scripts for Redisson's locks, prepended to each.
-- The lock is a hash with one field per owner, whose value is the hold count. The fair lock also
-- has a queue: a list of waiters, and a sorted set of the times, in ms, until which they wait.

-- The head of the queue after removing expired waiters, as every Redisson client does before
-- reading it.
local function head_of(queue, deadlines, now)
  while true do
    local head = redis.call('LINDEX', queue, 0)
    local deadline = head and redis.call('ZSCORE', deadlines, head)
    -- A waiter without a deadline cannot be judged as expired.
    if not deadline or tonumber(deadline) > tonumber(now) then return head end
    redis.call('LPOP', queue)
    redis.call('ZREM', deadlines, head)
  end
end

-- The caller's hold count, or nil if it does not hold the lock. A hash with the field `mode` is a
-- read-write lock, which these scripts do not handle.
local function holds_of(lock, field)
  return redis.call('HEXISTS', lock, 'mode') == 0 and tonumber(redis.call('HGET', lock, field))
end

-- The reply if the caller is not the owner: another owner, or a hash that is not a lock. Locks have
-- few fields, so large hashes are not listed.
local function not_the_callers(lock, field, left)
  local other
  for _, name in ipairs(redis.call('HLEN', lock) <= 16 and redis.call('HKEYS', lock) or {}) do
    if name == 'mode' then return {-2, 'hash', left} end
    if name ~= field then other = other or name end
  end
  return other and {-3, other:sub(1, 513), left} or {-2, 'hash', left}
end
