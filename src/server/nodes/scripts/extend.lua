-- Sets the lease of a lock, if the token is its owner's.
-- KEYS[1] the lock; ARGV[1] the token, ARGV[2] the new lease in milliseconds.
-- Answers {1 extended | 0 not there | -1 somebody else's | -2 of another type, its value or type, its PTTL}.
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return {0, '', 0} end
local left = redis.call('PTTL', KEYS[1])
if kind ~= 'string' then return {-2, kind, left} end
local start = redis.call('GETRANGE', KEYS[1], 0, math.max(#ARGV[1], 512))
if start ~= ARGV[1] then return {-1, start:sub(1, 513), left} end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {1, '', left}
