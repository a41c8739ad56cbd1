-- Removes an owner from a set, and leaves the others.
if kind ~= 'set' or redis.call('SREM', lock, owner) == 0 then return not_there() end
return {1, '', left}
