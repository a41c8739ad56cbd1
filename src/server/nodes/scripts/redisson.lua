-- What the scripts on Redisson's locks share; it stands before each of them.
-- The lock is a hash: a field for the owner, its value counts how often the owner entered. The fair form has a queue beside
-- it: a list of those who wait, and a sorted set of the moments, in milliseconds, until which they do.

-- The head of the queue, once those whose time is over are gone: every client clears them away before it looks.
local function head_of(queue, deadlines, now)
  while true do
    local head = redis.call('LINDEX', queue, 0)
    local deadline = head and redis.call('ZSCORE', deadlines, head)
    -- Who waits without a deadline cannot be judged.
    if not deadline or tonumber(deadline) > tonumber(now) then return head end
    redis.call('LPOP', queue)
    redis.call('ZREM', deadlines, head)
  end
end

-- How often the caller holds the lock; nothing where it does not. With a `mode` it is a read-write lock, which is none of ours.
local function holds_of(lock, field)
  return redis.call('HEXISTS', lock, 'mode') == 0 and tonumber(redis.call('HGET', lock, field))
end

-- What is there instead: another owner, or a hash that is no lock. A lock has few fields; nobody lists a large hash.
local function not_the_callers(lock, field, left)
  local other
  for _, name in ipairs(redis.call('HLEN', lock) <= 16 and redis.call('HKEYS', lock) or {}) do
    if name == 'mode' then return {-2, 'hash', left} end
    if name ~= field then other = other or name end
  end
  return other and {-3, other:sub(1, 513), left} or {-2, 'hash', left}
end
