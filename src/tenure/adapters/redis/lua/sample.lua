-- How long runs took: a list for each task, and how many were ever in it. ARGV: word, then the rest.
-- add:  most to keep; then for each task its name, how many, and the samples.
-- read: task, after which place, how many. Returns the place of the first one, and the samples.
local COUNTS, word = G .. 'samples', ARGV[4]
call('HLEN', COUNTS)

if word == 'add' then
  local most, at = tonumber(ARGV[5]), 6
  while at <= #ARGV do
    -- A key of another kind must be found before anything is changed.
    call('LLEN', COUNTS .. ':' .. ARGV[at])
    at = at + 2 + tonumber(ARGV[at + 1])
  end
  at = 6
  while at <= #ARGV do
    local task, count = ARGV[at], tonumber(ARGV[at + 1])
    local key, raws = COUNTS .. ':' .. task, {}
    for n = 1, count do raws[n] = ARGV[at + 1 + n] end
    many('RPUSH', key, raws)
    call('LTRIM', key, -most, -1)
    call('EXPIRE', key, math.max(1, math.ceil(KEEP / 1000000)))
    call('HSET', COUNTS, task, num((stored(call('HGET', COUNTS, task)) or 0) + count))
    at = at + 2 + count
  end
  return 1
end

local task, after, limit = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local key, count = COUNTS .. ':' .. task, stored(call('HGET', COUNTS, task)) or 0
local length = call('LLEN', key)
-- Place n of all that ever were is place n - (count - length) of those that are left.
local skip = math.max(0, after - (count - length))
return {num(count - length + skip + 1), call('LRANGE', key, skip, skip + limit - 1)}
