-- Makes the lease of a lock longer, if the token is its owner's. It never becomes shorter: its owner may rely on it, also
-- when this extension fails on the other nodes. A lock without expiry gets one.
-- KEYS[1] the lock; ARGV[1] the token, ARGV[2] the new lease in milliseconds.
-- Answers {1 it lasts that long | 0 not there | -1 somebody else's | -2 of another type, its value or type, its PTTL}.
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return {0, '', 0} end
local left = redis.call('PTTL', KEYS[1])
if kind ~= 'string' then return {-2, kind, left} end
local start = redis.call('GETRANGE', KEYS[1], 0, math.max(#ARGV[1], 512))
if start ~= ARGV[1] then return {-1, start:sub(1, 513), left} end
-- Written in any case: a server that may not write, such as a replica, has to say so.
redis.call('PEXPIRE', KEYS[1], math.max(left, tonumber(ARGV[2])))
return {1, '', left}
