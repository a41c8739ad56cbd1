-- Begins a session. KEYS: the session, its person's sessions.
-- ARGV: digest, person, stamp, idle ms, longest ms, most of one person, what the name of a session begins with.
-- Its end is fixed by this server's clock; a session that is not used expires by itself.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends = now + tonumber(ARGV[5])
redis.call('HSET', KEYS[1], 'person', ARGV[2], 'stamp', ARGV[3], 'ends', string.format('%.0f', ends))
redis.call('PEXPIRE', KEYS[1], math.min(tonumber(ARGV[4]), tonumber(ARGV[5])))
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('(%.0f', now))
redis.call('ZADD', KEYS[2], string.format('%.0f', ends), ARGV[1])
local over = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[6])
if over > 0 then
  for _, digest in ipairs(redis.call('ZRANGE', KEYS[2], 0, over - 1)) do
    redis.call('DEL', ARGV[7] .. digest)
    redis.call('ZREM', KEYS[2], digest)
  end
end
redis.call('PEXPIRE', KEYS[2], math.max(tonumber(ARGV[5]), redis.call('PTTL', KEYS[2])))
return 1
