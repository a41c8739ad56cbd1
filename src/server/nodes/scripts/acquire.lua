-- Takes a lock that is a string, or extends it if it is the caller's already, and raises its fence. A lease never becomes
-- shorter by this: its owner may rely on it, also when this try fails on the other nodes.
-- KEYS[1] the lock, KEYS[2] its fence if it has one; ARGV[1] the token, ARGV[2] the lease in milliseconds, ARGV[3] the
-- fence proposed, ARGV[4] for how many milliseconds it is remembered.
-- Answers {2 taken | 1 extended | -1 somebody else's | -2 of another type, its value or type, the fence or the PTTL}.
local took = 2
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  local kind = redis.call('TYPE', KEYS[1])['ok']
  local left = redis.call('PTTL', KEYS[1])
  if kind ~= 'string' then return {-2, kind, left} end
  local start = redis.call('GETRANGE', KEYS[1], 0, math.max(#ARGV[1], 512))
  if start ~= ARGV[1] then return {-1, start:sub(1, 513), left} end
  -- Written in any case: a server that may not write, such as a replica, has to say so.
  redis.call('PEXPIRE', KEYS[1], math.max(left, tonumber(ARGV[2])))
  took = 1
end
if not KEYS[2] then return {took, '', 0} end
-- What cannot be counted gives nobody a lock.
local function refuse(answer)
  if took == 2 then redis.call('DEL', KEYS[1]) end
  return answer
end
-- Read and written in one command, for calls are what a script costs.
local before = redis.pcall('SET', KEYS[2], ARGV[3], 'PX', ARGV[4], 'GET')
if type(before) == 'table' then
  -- A server before 6.2 has no such command. Any other reason comes up again.
  before = redis.pcall('GET', KEYS[2])
  if type(before) == 'table' then return refuse(before) end
  local written = redis.pcall('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
  if written.err then return refuse(written) end
end
local fence = tonumber(ARGV[3])
if not before then return {took, '', fence} end
local last = tonumber(before)
if not last or last >= 9007199254740991 then
  redis.call('SET', KEYS[2], before, 'PX', ARGV[4])
  return refuse(redis.error_reply('ERR the fence beside this lock is no number to count on'))
end
if last >= fence then
  fence = last + 1
  redis.call('SET', KEYS[2], string.format('%.0f', fence), 'PX', ARGV[4])
end
return {took, '', fence}
