-- Shared code of the force-release scripts, prepended to each. ARGV[1] is the highest PTTL with
-- which the hold can still be the observed one, empty if the PTTL proves nothing; ARGV[2] is the
-- observed owner.
-- Commands that permissions can deny come first or are optional, so that nothing is left half
-- released.
-- Returns {1 released | 0 missing | -1 held by another owner, -3 the same in a hash | -2 other
-- type, or without that owner | -4 the same owner with another hold, value or type, PTTL}.
local lock, owner = KEYS[1], ARGV[2]
local kind, left = redis.call('TYPE', lock)['ok'], redis.call('PTTL', lock)

local function not_there()
  return kind == 'none' and {0, '', 0} or {-2, kind, left}
end

-- Renewed or reacquired since it was observed: the two cannot be distinguished.
local function is_later()
  return ARGV[1] ~= '' and (left < 0 or left > tonumber(ARGV[1]))
end

local another_hold = {-4, '', left}

