-- Acquires a string lock, or extends it if the caller already holds it, and increments its fencing
-- counter. Never shortens the lease: the owner relies on it, even if this attempt fails on other
-- nodes.
-- KEYS[1] lock, KEYS[2] fencing counter, if any; ARGV[1] token, ARGV[2] lease in ms, ARGV[3]
-- proposed fencing token, ARGV[4] TTL of the counter in ms.
-- Returns 2 acquired | 1 extended if the fencing token is the proposed one or there is no counter.
-- Otherwise returns {2 acquired | 1 extended | -1 held by another owner | -2 other type, value or
-- type, fencing token or PTTL}: an integer costs Redis and the client less than an array.
local took = 2
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  local kind = redis.call('TYPE', KEYS[1])['ok']
  local left = redis.call('PTTL', KEYS[1])
  if kind ~= 'string' then return {-2, kind, left} end
  local start = redis.call('GETRANGE', KEYS[1], 0, math.max(#ARGV[1], 512))
  if start ~= ARGV[1] then return {-1, start:sub(1, 513), left} end
  -- Written in any case: a read-only server, such as a replica, must return an error.
  redis.call('PEXPIRE', KEYS[1], math.max(left, tonumber(ARGV[2])))
  took = 1
end
if not KEYS[2] then return took end
-- Without a fencing token the lock must not be granted.
local function refuse(answer)
  if took == 2 then redis.call('DEL', KEYS[1]) end
  return answer
end
-- One command for read and write: the calls dominate the cost of a script.
local before = redis.pcall('SET', KEYS[2], ARGV[3], 'PX', ARGV[4], 'GET')
if type(before) == 'table' then
  -- Servers before 6.2 do not support SET with GET. Any other error occurs again below.
  before = redis.pcall('GET', KEYS[2])
  if type(before) == 'table' then return refuse(before) end
  local written = redis.pcall('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
  if written.err then return refuse(written) end
end
if not before then return took end
local proposed, last = tonumber(ARGV[3]), tonumber(before)
if last and last < proposed then return took end
if not last or last >= 9007199254740991 then
  redis.call('SET', KEYS[2], before, 'PX', ARGV[4])
  return refuse(redis.error_reply('ERR the fencing counter of this lock is not a usable number'))
end
redis.call('SET', KEYS[2], string.format('%.0f', last + 1), 'PX', ARGV[4])
return {took, '', last + 1}
