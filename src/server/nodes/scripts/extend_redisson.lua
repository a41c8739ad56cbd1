-- Makes the lease of Redisson's lock longer, if the caller holds it. Redisson's watchdog sets it, always to the same; ours
-- never becomes shorter, as its owner may rely on it, also when this extension fails on the other nodes.
-- KEYS[1] the lock; ARGV[1] the owner's field, ARGV[2] the new lease in milliseconds.
-- Answers {2 it lasts that long, how often the caller holds it in the place of the PTTL | 0 not there | -3 somebody else's | -2 of another type, an owner's field or the type, its PTTL}.
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return {0, '', 0} end
local left = redis.call('PTTL', KEYS[1])
if kind ~= 'hash' then return {-2, kind, left} end
local holds = holds_of(KEYS[1], ARGV[1])
if not holds then return not_the_callers(KEYS[1], ARGV[1], left) end
-- Written in any case: a server that may not write, such as a replica, has to say so.
redis.call('PEXPIRE', KEYS[1], math.max(left, tonumber(ARGV[2])))
return {2, '', holds}
