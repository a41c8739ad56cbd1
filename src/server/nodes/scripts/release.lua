-- Deletes a lock that is a string, if its value is the one expected: a token of ours, or the owner that somebody saw.
-- KEYS[1] the lock; ARGV[1] the value.
-- Answers {1 released | 0 not there | -1 somebody else's | -2 of another type, its value or type, its PTTL}.
local start = redis.pcall('GETRANGE', KEYS[1], 0, math.max(#ARGV[1], 512))
if start == ARGV[1] and redis.call('DEL', KEYS[1]) == 1 then return {1, '', 0} end
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return {0, '', 0} end
local left = redis.call('PTTL', KEYS[1])
if kind ~= 'string' then return {-2, kind, left} end
-- Not read for another reason than its type, a missing permission for one.
if type(start) == 'table' then return start end
return {-1, start:sub(1, 513), left}
