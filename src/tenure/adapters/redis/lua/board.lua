-- The newest tick of a schedule. ARGV: schedule, moment, tick. Returns 1 if it is new.
local key = G .. 'ticks'
local known = call('HGET', key .. ':at', ARGV[4])
if known and tonumber(known) >= tonumber(ARGV[5]) then return 0 end
call('HSET', key .. ':at', ARGV[4], ARGV[5])
call('HSET', key, ARGV[4], ARGV[6])
return 1
