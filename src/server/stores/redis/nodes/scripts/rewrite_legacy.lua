-- Extends a legacy lock by writing a later timestamp, or releases it, if the signature is its
-- owner's. A timestamp is never replaced by an earlier one: the owner relies on it.
-- KEYS[1] lock; ARGV[1] signature, ARGV[2] value to write, empty to delete the lock.
-- Returns {3 written | 1 released, or already later | 0 missing | -1 held by another owner | -2
-- other type, value or type, PTTL}.
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return {0, '', 0} end
local left = redis.call('PTTL', KEYS[1])
-- A string with a TTL is a plain lock.
if kind ~= 'string' or left >= 0 then return {-2, kind, left} end
local value = redis.call('GETRANGE', KEYS[1], 0, 512)
if not is_signed(value, ARGV[1]) then return {-1, value, left} end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
  return {1, '', left}
end
-- With the same signature, only the whole seconds differ.
local stays = moment(value) > moment(ARGV[2])
-- Written in any case: a read-only server, such as a replica, must return an error.
redis.call('SET', KEYS[1], stays and value or ARGV[2])
return {stays and 1 or 3, '', left}
