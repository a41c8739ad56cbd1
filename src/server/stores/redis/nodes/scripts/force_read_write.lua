-- Removes a reader or the writer from Redisson's read-write lock. A writer is removed together with
-- its own read locks: while it writes, no other client can read. With the last holder the lock is
-- deleted and waiters are notified; otherwise it expires with its longest reader.
-- ARGV[3] observed hold count, ARGV[4] key prefix of the readers' leases, from ARGV[5] on the
-- channels, each preceded by its publish command.
if kind ~= 'hash' then return not_there() end
local writer = owner:match('^(.*):write$')
local holds = tonumber(redis.call('HGET', lock, owner))
if not holds or redis.call('HGET', lock, 'mode') ~= (writer and 'write' or 'read') then return not_there() end
-- With more than one reader, the deadline can belong to any of them.
if holds > tonumber(ARGV[3]) or (redis.call('HLEN', lock) == 2 and is_later()) then return another_hold end

local function leases_of(reader, each)
  local count = tonumber(redis.call('HGET', lock, reader)) or 0
  for n = 1, math.min(count, 1000) do each(ARGV[4] .. ':' .. reader .. ':rwlock_timeout:' .. n) end
end

local reader = writer or owner
-- If deleting a lease is denied, it expires by itself.
leases_of(reader, function(lease) redis.pcall('DEL', lease) end)
redis.call('HDEL', lock, owner, reader)
if redis.call('HLEN', lock) > 1 then
  if writer then redis.call('HSET', lock, 'mode', 'read') end
  local longest = 0
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    if field ~= 'mode' then
      leases_of(field, function(lease)
        local lasts = redis.pcall('PTTL', lease)
        if type(lasts) == 'number' then longest = math.max(longest, lasts) end
      end)
    end
  end
  if longest > 0 then redis.call('PEXPIRE', lock, longest) end
  if not writer then return {1, '', left} end
else
  redis.call('DEL', lock)
end
-- The message 1 wakes all waiting readers, 0 wakes one waiter per instance.
for n = 5, #ARGV, 2 do redis.pcall(ARGV[n], ARGV[n + 1], writer and '1' or '0') end
return {1, '', left}
