-- Deletes a string lock if it has the expected value: a token of this console, or an observed
-- owner.
-- KEYS[1] lock; ARGV[1] value.
-- Returns 1 released | 0 missing, or {-1 held by another owner | -2 other type, value or type, PTTL}.
local start = redis.pcall('GETRANGE', KEYS[1], 0, math.max(#ARGV[1], 512))
if start == ARGV[1] and redis.call('DEL', KEYS[1]) == 1 then return 1 end
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return 0 end
local left = redis.call('PTTL', KEYS[1])
if kind ~= 'string' then return {-2, kind, left} end
-- The read failed for a reason other than the type, for example a missing permission.
if type(start) == 'table' then return start end
return {-1, start:sub(1, 513), left}
