-- Adds lines to the audit if it still ends where the writer believes. KEYS: the stream.
-- ARGV: number and hash of the line that they follow, how many lines are kept about (0: all), the lines.
-- Answers {1}, or {0, number, hash} of the line that it ends with. An entry's id is its line's number.
local number, hash = '0', string.rep('0', 64)
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if last then
  number = string.match(last[1], '^(%d+)-')
  hash = string.sub(last[2][2], -66, -3)
end
if number ~= ARGV[1] or hash ~= ARGV[2] then
  return {'0', number, hash}
end
for n = 4, #ARGV do
  redis.call('XADD', KEYS[1], string.format('%.0f-0', tonumber(number) + n - 3), 'line', ARGV[n])
end
if ARGV[3] ~= '0' then
  redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[3])
end
return {'1'}
