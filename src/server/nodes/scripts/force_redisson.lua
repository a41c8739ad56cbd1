-- Deletes Redisson's hash that has the owner's field and no other, and wakes one waiter of each instance and the head of the
-- fair queue. The counter of a fenced lock stays: it must never fall.
-- ARGV[3] how often it was held, ARGV[4] now, ARGV[5] the queue, ARGV[6] the deadlines, ARGV[7] the counter and ARGV[8] what
-- it was, if there is one, from ARGV[9] on the channels, each behind the command that publishes there.
if kind ~= 'hash' then return not_there() end
local holds = holds_of(lock, owner)
if not holds or redis.call('HLEN', lock) > 1 then return not_the_callers(lock, owner, left) end
if is_later() or holds > tonumber(ARGV[3]) then return another_hold end
local fence = ARGV[7] ~= '' and redis.pcall('GET', ARGV[7])
-- Not read for another reason than its type, a missing permission for one.
if type(fence) == 'table' and not fence.err:find('WRONGTYPE') then return fence end
if ARGV[7] ~= '' and fence ~= ARGV[8] then return another_hold end
redis.call('DEL', lock)
local may_look, head = pcall(head_of, ARGV[5], ARGV[6], ARGV[4])
for n = 9, #ARGV, 2 do
  redis.pcall(ARGV[n], ARGV[n + 1], '0')
  if may_look and head then redis.pcall(ARGV[n], ARGV[n + 1] .. ':' .. head, '0') end
end
return {1, '', left}
