-- Extends a legacy lock by writing a later moment, or releases it, if the sign is its owner's. A moment is never replaced by
-- an earlier one: its owner may rely on it.
-- KEYS[1] the lock; ARGV[1] the sign, ARGV[2] the value to write, nothing to delete it.
-- Answers {3 written | 1 released, or it lasts that long | 0 not there | -1 somebody else's | -2 of another type, its value or type, its PTTL}.
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return {0, '', 0} end
local left = redis.call('PTTL', KEYS[1])
-- With a TTL it is a plain lock.
if kind ~= 'string' or left >= 0 then return {-2, kind, left} end
local value = redis.call('GETRANGE', KEYS[1], 0, 512)
if not is_signed(value, ARGV[1]) then return {-1, value, left} end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
  return {1, '', left}
end
-- With the same sign, whole seconds are what differs.
local stays = moment(value) > moment(ARGV[2])
-- Written in any case: a server that may not write, such as a replica, has to say so.
redis.call('SET', KEYS[1], stays and value or ARGV[2])
return {stays and 1 or 3, '', left}
