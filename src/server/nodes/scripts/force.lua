-- What the scripts share that release somebody else's lock; it stands before each of them. ARGV[1] is the highest PTTL that a
-- hold may have which is the one that was seen, nothing where that proves nothing, ARGV[2] the owner as it was seen.
-- Whatever may be refused by a server's permissions comes first or is not needed: nothing is left half released.
-- Answers {1 released | 0 not there | -1 somebody else's, -3 the same in a hash | -2 of another type, or without that owner |
-- -4 the same owner but another hold, its value or type, its PTTL}.
local lock, owner = KEYS[1], ARGV[2]
local kind, left = redis.call('TYPE', lock)['ok'], redis.call('PTTL', lock)

local function not_there()
  return kind == 'none' and {0, '', 0} or {-2, kind, left}
end

-- Renewed or acquired again since it was seen: from outside the two look alike.
local function is_later()
  return ARGV[1] ~= '' and (left < 0 or left > tonumber(ARGV[1]))
end

local another_hold = {-4, '', left}

