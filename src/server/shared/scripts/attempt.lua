-- Counts an attempt to sign in, or says how long to wait for the next one, in ms.
-- KEYS: the salt. ARGV: a salt if there is none yet, account, address, free for an account, free for an address,
-- longest wait ms, forgotten after ms, what a place's name begins with, whether it succeeded.
-- The places are as many as four hex digits name, picked with a salt that nobody outside knows: memory is bounded.
local salt = redis.call('GET', KEYS[1])
if not salt then
  salt = ARGV[1]
  redis.call('SET', KEYS[1], salt)
end
local function place(kind, name)
  return ARGV[8] .. kind .. ':' .. string.sub(redis.sha1hex(salt .. kind .. name), 1, 4)
end
local account, address = place('account', ARGV[2]), place('address', ARGV[3])
if ARGV[9] == '1' then
  redis.call('DEL', account)
  if (tonumber(redis.call('HGET', address, 'count')) or 0) > 0 then
    redis.call('HINCRBY', address, 'count', -1)
  end
  return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function wait(key, free)
  local told = redis.call('HMGET', key, 'count', 'last')
  local beyond = (tonumber(told[1]) or 0) - free
  if beyond <= 0 then
    return 0
  end
  local pause = math.min(1000 * 2 ^ (math.min(beyond, 16) - 1), tonumber(ARGV[6]))
  return pause - math.max(0, now - tonumber(told[2]))
end
local longest = math.max(wait(account, tonumber(ARGV[4])), wait(address, tonumber(ARGV[5])))
if longest > 0 then
  return math.ceil(longest)
end
for _, key in ipairs({account, address}) do
  redis.call('HINCRBY', key, 'count', 1)
  redis.call('HSET', key, 'last', string.format('%.0f', now))
  redis.call('PEXPIRE', key, tonumber(ARGV[7]))
end
return 0
