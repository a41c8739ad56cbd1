-- Counts an attempt to sign in: how long to wait for the next one, and how long this one is held up, both in ms.
-- KEYS: the salt. ARGV: a salt if there is none yet, account, network, a browser that is known or nothing, free for an account from
-- one place, free for a network, free for an account from everywhere, longest wait ms, longest delay ms, forgotten after ms, what a
-- place's name begins with, whether it succeeded.
-- The places are as many as four hex digits name, picked with a salt that nobody outside knows: memory is bounded.
local salt = redis.call('GET', KEYS[1])
if not salt then
  salt = ARGV[1]
  redis.call('SET', KEYS[1], salt)
end
local function digest(kind, name)
  return redis.sha1hex(salt .. kind .. name)
end
local function place(kind, name)
  return ARGV[11] .. kind .. ':' .. string.sub(digest(kind, name), 1, 4)
end
local is_known_browser = ARGV[4] ~= ''
local both = ARGV[2] .. '\0' .. (is_known_browser and ('browser ' .. ARGV[4]) or ('network ' .. ARGV[3]))
local pair, network, account = place('pair', both), place('network', ARGV[3]), place('account', ARGV[2])
-- Written only by those who had the right password: as many as there are accounts and networks.
local known = ARGV[11] .. 'known:' .. digest('known', both)
if ARGV[12] == '1' then
  redis.call('DEL', pair)
  if not is_known_browser then
    redis.call('DEL', account)
    if (tonumber(redis.call('HGET', network, 'count')) or 0) > 0 then
      redis.call('HINCRBY', network, 'count', -1)
    end
    redis.call('SET', known, '1', 'EX', 2592000)
  end
  return {0, 0}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function pause(key, free, first, longest)
  local told = redis.call('HMGET', key, 'count', 'last')
  local beyond = (tonumber(told[1]) or 0) - free
  if beyond <= 0 then
    return 0, 0
  end
  local pause = math.min(first * 2 ^ (math.min(beyond, 16) - 1), longest)
  return pause - math.max(0, now - tonumber(told[2])), pause
end
local longest = tonumber(ARGV[8])
local wait, delay = pause(pair, tonumber(ARGV[5]), 1000, longest), 0
if not is_known_browser and redis.call('EXISTS', known) == 0 then
  wait = math.max(wait, (pause(network, tonumber(ARGV[6]), 1000, longest)))
  local _, held_up = pause(account, tonumber(ARGV[7]), 100, tonumber(ARGV[9]))
  delay = held_up
end
if wait > 0 then
  return {math.ceil(wait), 0}
end
local counted = is_known_browser and {pair} or {pair, network, account}
for _, key in ipairs(counted) do
  redis.call('HINCRBY', key, 'count', 1)
  redis.call('HSET', key, 'last', string.format('%.0f', now))
  redis.call('PEXPIRE', key, tonumber(ARGV[10]))
end
return {0, math.ceil(delay)}
