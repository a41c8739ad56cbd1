-- One more request of a client, or how long to wait for it, in ms. KEYS: the client's place. ARGV: requests per second.
-- What is kept is when all that came would have come at an even pace (GCRA).
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local step = 1000000 / tonumber(ARGV[1])
local even = math.max(tonumber(redis.call('GET', KEYS[1])) or now, now)
local wait = even + step - 1000000 - now
if wait > 0 then
  return math.ceil(wait / 1000)
end
redis.call('SET', KEYS[1], string.format('%.0f', even + step), 'PX', math.ceil((even + step - now) / 1000) + 1)
return 0
