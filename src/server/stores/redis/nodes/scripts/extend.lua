-- Extends the lease of a lock if the token is its owner's. Never shortens it: the owner relies on
-- it, even if this extension fails on other nodes. A lock without expiry gets one.
-- KEYS[1] lock; ARGV[1] token, ARGV[2] new lease in ms.
-- Returns {1 extended | 0 missing | -1 held by another owner | -2 other type, value or type, PTTL}.
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return {0, '', 0} end
local left = redis.call('PTTL', KEYS[1])
if kind ~= 'string' then return {-2, kind, left} end
local start = redis.call('GETRANGE', KEYS[1], 0, math.max(#ARGV[1], 512))
if start ~= ARGV[1] then return {-1, start:sub(1, 513), left} end
-- Written in any case: a read-only server, such as a replica, must return an error.
redis.call('PEXPIRE', KEYS[1], math.max(left, tonumber(ARGV[2])))
return {1, '', left}
