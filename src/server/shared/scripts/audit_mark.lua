-- Says that a program which writes to the audit lives. KEYS: its mark, all programs.
-- ARGV: the program, the number of the last line before it began, for how long ms.
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[2])
return 1
