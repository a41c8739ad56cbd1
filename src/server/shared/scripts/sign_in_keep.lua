-- Keeps a sign-in that began, and no more of them than there is room for: the ones that began first make it.
-- KEYS: the sign-in, the names of those of its network, the names of all. ARGV: what is kept, its name, how long in ms, so many of
-- a network, so many in all, what the name of a sign-in begins with.
local time = redis.call('TIME')
local now, lasts = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[3])
redis.call('SET', KEYS[1], ARGV[1], 'PX', lasts)
local function bound(names, most)
  redis.call('ZREMRANGEBYSCORE', names, '-inf', string.format('%.0f', now - lasts))
  redis.call('ZADD', names, string.format('%.0f', now), ARGV[2])
  local over = redis.call('ZCARD', names) - most
  if over > 0 then
    local oldest = redis.call('ZPOPMIN', names, over)
    for at = 1, #oldest, 2 do
      redis.call('DEL', ARGV[6] .. oldest[at])
    end
  end
  redis.call('PEXPIRE', names, lasts)
end
bound(KEYS[2], tonumber(ARGV[4]))
bound(KEYS[3], tonumber(ARGV[5]))
