-- What was counted: a hash for each step and bucket of time, and for each step the buckets there are, in order. ARGV: word, then
-- the rest.
-- keep:   for each row step, bucket, until when it is kept (Unix seconds; '': until it is forgotten), field, data.
-- forget: step, and the moment before which its buckets go; so many at most. Returns how many went.
local KEY, word = G .. 'tally:', ARGV[4]

if word == 'keep' then
  for at = 5, #ARGV, 5 do
    -- A key of another kind must be found before anything is changed.
    call('ZCARD', KEY .. ARGV[at])
    call('HLEN', KEY .. ARGV[at] .. ':' .. ARGV[at + 1])
  end
  for at = 5, #ARGV, 5 do
    local key = KEY .. ARGV[at] .. ':' .. ARGV[at + 1]
    call('HSET', key, ARGV[at + 3], ARGV[at + 4])
    call('ZADD', KEY .. ARGV[at], ARGV[at + 1], ARGV[at + 1])
    if ARGV[at + 2] ~= '' then call('EXPIREAT', key, ARGV[at + 2]) end
  end
  return 1
end

local key = KEY .. ARGV[5]
local old = call('ZRANGEBYSCORE', key, '-inf', '(' .. ARGV[6], 'LIMIT', 0, ARGV[7])
for _, bucket in ipairs(old) do call('UNLINK', key .. ':' .. bucket) end
many('ZREM', key, old)
return #old
