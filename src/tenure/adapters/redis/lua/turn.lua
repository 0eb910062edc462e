-- Take or renew a turn. ARGV: its name, the caller's token, microseconds. Returns 1 if the caller has it.
-- A turn lapses; and one that ends later than this one would, or cannot be read, is none: no process could have taken it.
local key, now, length = G .. 'turns', time_of(G, false), tonumber(ARGV[6])
local ends, token = match(call('HGET', key, ARGV[4]) or '', '^(%d+)|(.*)$')
ends = stored(ends) or 0
if token ~= ARGV[5] and now < ends and ends <= now + length then return 0 end
call('HSET', key, ARGV[4], num(now + length) .. '|' .. ARGV[5])
return 1
