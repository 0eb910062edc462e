-- Ticks of schedules. ARGV: schedule; and, to note its newest one, its moment and the tick; else it is forgotten.
-- Returns 1 if that changed something.
local TICKS, AT, schedule, moment = G .. 'ticks', G .. 'ticks:at', ARGV[4], ARGV[5]
local known = call('HGET', AT, schedule)
call('HLEN', TICKS)
if not moment then
  call('HDEL', AT, schedule)
  return call('HDEL', TICKS, schedule)
end
-- Wall time, in seconds. What lies behind every calendar was written by hand, and would end the schedule.
if known and (stored(known, -1e12, 1e12) or -math.huge) >= tonumber(moment) then return 0 end
call('HSET', AT, schedule, moment)
call('HSET', TICKS, schedule, ARGV[6])
return 1
