-- Shared code of the scripts for legacy timestamp locks, prepended to each.
-- The lock is a string without a TTL; its value is the time at which it expires, in seconds. The
-- digits after the decimal point identify the owner: they stay the same while it holds the lock.

-- The seconds of a value, or false if it is not a timestamp.
local function moment(value)
  return (value:match('^%d%d%d%d%d%d%d%d%d%d$') or value:match('^%d%d%d%d%d%d%d%d%d%d%.%d+$')) and tonumber(value)
end

-- Whether a value is a lock of the owner with this signature.
local function is_signed(value, sign)
  return moment(value) and value:match('%.(%d+)$') == sign
end
