-- Rewrites suo's array without one entry if it is the observed array.
-- ARGV[2] observed array, ARGV[3] array without the owner, ARGV[4] 1 if it is empty.
if kind ~= 'string' then return not_there() end
-- A different array can still contain the owner: another client joined or left.
if redis.call('GETRANGE', lock, 0, #owner) ~= owner then return another_hold end
if ARGV[4] == '1' then
  redis.call('SET', lock, ARGV[3], 'EX', 60)
elseif left > 0 then
  redis.call('SET', lock, ARGV[3], 'PX', left)
else
  redis.call('SET', lock, ARGV[3])
end
return {1, '', left}
