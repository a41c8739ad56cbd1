-- Takes an owner's field out of a hash, if it has the value that was seen.
-- KEYS[2] the list that gets the field back, if there is one; ARGV[3] the value.
if kind ~= 'hash' then return not_there() end
local value = redis.call('HGET', lock, owner)
if not value then return not_there() end
if value ~= ARGV[3] then return another_hold end
if KEYS[2] then redis.call('LPUSH', KEYS[2], owner) end
redis.call('HDEL', lock, owner)
return {1, '', left}
