-- Claims an act that is to be done once, or tells what came of it. KEYS: the act.
-- ARGV: the request's digest, who claims, for how long ms.
-- Answers {'mine'}, {'running'}, {'another'} (the key stands for another request) or {'answered', the sealed answer}.
local told = redis.call('HMGET', KEYS[1], 'request', 'by', 'answer')
if told[1] and told[1] ~= ARGV[1] then
  return {'another'}
end
if told[3] then
  return {'answered', told[3]}
end
if told[1] and told[2] ~= ARGV[2] then
  return {'running'}
end
redis.call('HSET', KEYS[1], 'request', ARGV[1], 'by', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'mine'}
