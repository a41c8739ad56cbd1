-- Takes an owner out of a set, and leaves everybody else.
if kind ~= 'set' or redis.call('SREM', lock, owner) == 0 then return not_there() end
return {1, '', left}
