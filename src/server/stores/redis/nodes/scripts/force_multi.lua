-- Removes one value from Redisson's faster multi-lock: its three fields only.
-- ARGV[3] field of the value, ARGV[4] observed hold count, ARGV[5] observed expiry, from ARGV[6] on
-- the channels, each preceded by its publish command.
if kind ~= 'hash' then return not_there() end
local whose = redis.call('HGET', lock, ARGV[3])
if not whose then return not_there() end
if whose ~= owner then return {-3, (ARGV[3] .. ':' .. whose):sub(1, 513), left} end
local count, ends = ARGV[3] .. ':' .. owner .. ':lock_count', ARGV[3] .. ':' .. owner .. ':expire_time'
local held, lasts = tonumber(redis.call('HGET', lock, count)), tonumber(redis.call('HGET', lock, ends))
if not held or not lasts or held > tonumber(ARGV[4]) or lasts > tonumber(ARGV[5]) then return another_hold end
redis.call('HDEL', lock, ARGV[3], count, ends)
for n = 6, #ARGV, 2 do redis.pcall(ARGV[n], ARGV[n + 1], '0') end
return {1, '', left}
