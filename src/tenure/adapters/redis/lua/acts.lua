-- The audit log: acts in a sorted set by their place, each with its place before it, so that no two are the same. ARGV: acts, in
-- order. Returns the place of the last one. (Not a stream: one number that somebody puts there by hand would end it.)
local KEY = G .. 'acts'
local top = call('ZREVRANGEBYSCORE', KEY, num(MOST_STORED), '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
local last, rows = math.max(stored(call('GET', KEY .. ':n')) or 0, math.floor(stored(top[2]) or 0)), {}
for at = 4, #ARGV do
  last = last + 1
  rows[#rows + 1], rows[#rows + 2] = num(last), num(last) .. ':' .. ARGV[at]
end
many('ZADD', KEY, rows)
call('SET', KEY .. ':n', num(last))
return num(last)
