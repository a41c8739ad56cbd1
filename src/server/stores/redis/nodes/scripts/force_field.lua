-- Removes an owner's field from a hash if it has the observed value.
-- KEYS[2] list to which the field is returned, if any; ARGV[3] value.
if kind ~= 'hash' then return not_there() end
local value = redis.call('HGET', lock, owner)
if not value then return not_there() end
if value ~= ARGV[3] then return another_hold end
if KEYS[2] then redis.call('LPUSH', KEYS[2], owner) end
redis.call('HDEL', lock, owner)
return {1, '', left}
