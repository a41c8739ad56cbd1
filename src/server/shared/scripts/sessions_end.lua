-- Ends sessions. KEYS: a person's sessions. ARGV: what the name of a session begins with, then digests; without any, all.
local digests = {}
for n = 2, #ARGV do
  digests[#digests + 1] = ARGV[n]
end
if #digests == 0 then
  digests = redis.call('ZRANGE', KEYS[1], 0, -1)
end
for _, digest in ipairs(digests) do
  redis.call('DEL', ARGV[1] .. digest)
  redis.call('ZREM', KEYS[1], digest)
end
return #digests
