-- Writes suo's array anew without one entry, if it is the array that was seen.
-- ARGV[2] the array that was seen, ARGV[3] the one without the owner, ARGV[4] 1 if nobody is left in it.
if kind ~= 'string' then return not_there() end
-- Another array may have the owner in it still: what came or went is somebody else's.
if redis.call('GETRANGE', lock, 0, #owner) ~= owner then return another_hold end
if ARGV[4] == '1' then
  redis.call('SET', lock, ARGV[3], 'EX', 60)
elseif left > 0 then
  redis.call('SET', lock, ARGV[3], 'PX', left)
else
  redis.call('SET', lock, ARGV[3])
end
return {1, '', left}
