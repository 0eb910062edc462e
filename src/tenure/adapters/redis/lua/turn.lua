-- Whose turn it is to do something. ARGV: what, who asks, for how many microseconds. Returns 1 if it is theirs.
-- A turn lapses; and one that ends later than this one would, or cannot be read, is none: nobody could have taken it.
local key, now, length = G .. 'turns', time_of(G, false), tonumber(ARGV[6])
local ends, token = match(call('HGET', key, ARGV[4]) or '', '^(%d+)|(.*)$')
ends = stored(ends) or 0
if token ~= ARGV[5] and now < ends and ends <= now + length then return 0 end
call('HSET', key, ARGV[4], num(now + length) .. '|' .. ARGV[5])
return 1
