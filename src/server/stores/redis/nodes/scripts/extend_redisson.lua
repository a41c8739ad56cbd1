-- Extends the lease of Redisson's lock if the caller holds it. Redisson's watchdog always sets the
-- same lease; this script never shortens it, because the owner relies on it even if this extension
-- fails on other nodes.
-- KEYS[1] lock; ARGV[1] owner field, ARGV[2] new lease in ms.
-- Returns {2 extended, with the hold count instead of the PTTL | 0 missing | -3 held by another
-- owner | -2 other type, owner field or type, PTTL}.
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return {0, '', 0} end
local left = redis.call('PTTL', KEYS[1])
if kind ~= 'hash' then return {-2, kind, left} end
local holds = holds_of(KEYS[1], ARGV[1])
if not holds then return not_the_callers(KEYS[1], ARGV[1], left) end
-- Written in any case: a read-only server, such as a replica, must return an error.
redis.call('PEXPIRE', KEYS[1], math.max(left, tonumber(ARGV[2])))
return {2, '', holds}
