-- The audit log: acts in a sorted set by their place, each with its place before it, so that no two are the same. ARGV: '1' if it
-- was said before and not answered, acts in order. Returns the place of the last one. (Not a stream: one number that a person puts there by hand would end it.)
local KEY = G .. 'acts'
local top = call('ZREVRANGEBYSCORE', KEY, num(MOST_STORED), '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
if ARGV[4] == '1' then
  local kept, is_kept = {}, true
  for _, one in ipairs(call('ZREVRANGE', KEY, 0, 199)) do kept[match(one, '^%d+:(.*)$') or ''] = true end
  for at = 5, #ARGV do is_kept = is_kept and kept[ARGV[at]] end
  if is_kept then return num(math.floor(stored(top[2]) or 0)) end
end
local last, rows = math.max(stored(call('GET', KEY .. ':n')) or 0, math.floor(stored(top[2]) or 0)), {}
for at = 5, #ARGV do
  last = last + 1
  rows[#rows + 1], rows[#rows + 2] = num(last), num(last) .. ':' .. ARGV[at]
end
many('ZADD', KEY, rows)
call('SET', KEY .. ':n', num(last))
return num(last)
