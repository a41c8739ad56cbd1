-- Deletes Redisson's hash if it has the owner's field and no other, and notifies one waiter per
-- instance and the head of the fair queue. The counter of a fenced lock is kept: it must never
-- decrease.
-- ARGV[3] observed hold count, ARGV[4] now, ARGV[5] queue, ARGV[6] deadlines, ARGV[7] fencing
-- counter and ARGV[8] its observed value, if any, from ARGV[9] on the channels, each preceded by
-- its publish command.
if kind ~= 'hash' then return not_there() end
local holds = holds_of(lock, owner)
if not holds or redis.call('HLEN', lock) > 1 then return not_the_callers(lock, owner, left) end
if is_later() or holds > tonumber(ARGV[3]) then return another_hold end
local fence = ARGV[7] ~= '' and redis.pcall('GET', ARGV[7])
-- The read failed for a reason other than the type, for example a missing permission.
if type(fence) == 'table' and not fence.err:find('WRONGTYPE') then return fence end
if ARGV[7] ~= '' and fence ~= ARGV[8] then return another_hold end
redis.call('DEL', lock)
local may_look, head = pcall(head_of, ARGV[5], ARGV[6], ARGV[4])
for n = 9, #ARGV, 2 do
  redis.pcall(ARGV[n], ARGV[n + 1], '0')
  if may_look and head then redis.pcall(ARGV[n], ARGV[n + 1] .. ':' .. head, '0') end
end
return {1, '', left}
