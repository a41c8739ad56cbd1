-- Keeps what came of an act, or gives the claim back where nothing did. KEYS: the act.
-- ARGV: the request's digest, who claimed, the sealed answer or nothing, for how long ms.
-- An answer is never written over another, nor over the claim of somebody else.
local told = redis.call('HMGET', KEYS[1], 'request', 'by', 'answer')
if told[3] or (told[1] and (told[1] ~= ARGV[1] or told[2] ~= ARGV[2])) then
  return 0
end
if ARGV[3] == '' then
  return redis.call('DEL', KEYS[1])
end
redis.call('HSET', KEYS[1], 'request', ARGV[1], 'by', ARGV[2], 'answer', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
