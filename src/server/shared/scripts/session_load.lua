-- Whose session it is, if it goes on. KEYS: the session. ARGV: idle ms, or 0 where looking is no use of it.
-- Answers {person, stamp}, or nothing.
local told = redis.call('HMGET', KEYS[1], 'person', 'stamp', 'ends')
if not told[1] then
  return false
end
local time = redis.call('TIME')
local left = tonumber(told[3]) - (time[1] * 1000 + math.floor(time[2] / 1000))
if left <= 0 then
  redis.call('DEL', KEYS[1])
  return false
end
if tonumber(ARGV[1]) > 0 then
  redis.call('PEXPIRE', KEYS[1], math.min(tonumber(ARGV[1]), left))
end
return {told[1], told[2]}
