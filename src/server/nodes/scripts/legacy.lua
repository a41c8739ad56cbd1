-- What the scripts on legacy locks share; it stands before each of them.
-- The lock is a string without a TTL, and its value the moment at which it ends, in seconds. What tells owners apart are the
-- digits behind the point: they stay the same for as long as a lock is held.

-- The seconds that a value names; nothing where it is no moment.
local function moment(value)
  return (value:match('^%d%d%d%d%d%d%d%d%d%d$') or value:match('^%d%d%d%d%d%d%d%d%d%d%.%d+$')) and tonumber(value)
end

-- Whether a value is the lock of the owner with this sign.
local function is_signed(value, sign)
  return moment(value) and value:match('%.(%d+)$') == sign
end
