-- A page of a table's part, in order. KEYS: hash, sorted set. ARGV: whether backwards, from, to, how many.
-- Returns the sorts, and the texts.
local from, to, most = ARGV[2], ARGV[3], ARGV[4]
local sorts
if ARGV[1] == '1' then sorts = redis.call('ZREVRANGEBYLEX', KEYS[2], from, to, 'LIMIT', 0, most)
else sorts = redis.call('ZRANGEBYLEX', KEYS[2], from, to, 'LIMIT', 0, most) end
if #sorts == 0 then return {sorts, sorts} end
return {sorts, redis.call('HMGET', KEYS[1], unpack(sorts))}
