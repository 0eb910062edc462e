-- Who works here. ARGV: word, owner's id, then the rest. Who is dead is not decided here (rules/presence.py).
--   roster    hash id -> owner, from join until it is retired or removed
--   joined    zset: when it joined. Not there: it was put back by a beat, and that is not known any more
--   heard     zset: when it was last heard
--   left      set: those that said goodbye
--   retiring  hash id -> how it ended, of those that were declared dead: not all that they held may be returned yet
local word, id, now = ARGV[4], ARGV[5], time_of(G, true)
local OWNERS, JOINED, HEARD, LEFT, RETIRING = G .. 'roster', G .. 'joined', G .. 'heard', G .. 'left', G .. 'retiring'

-- A key of another kind where one of ours should be must be found before anything is changed: reading it is an error.
for _, key in ipairs({OWNERS, RETIRING, G .. 'meta'}) do call('HLEN', key) end
for _, key in ipairs({JOINED, HEARD, G .. 'ban'}) do call('ZCARD', key) end
for _, key in ipairs({LEFT, G .. 'queues'}) do call('SCARD', key) end

local function drop()
  call('HDEL', OWNERS, id)
  call('ZREM', JOINED, id)
  call('ZREM', HEARD, id)
  call('SREM', LEFT, id)
end

-- owner. Returns 0 for one that is banned.
if word == 'join' then
  if is_banned(id) then return 0 end
  call('HSET', OWNERS, id, ARGV[6])
  call('ZADD', JOINED, num(now), id)
  call('ZADD', HEARD, num(now), id)
  call('SREM', LEFT, id)
  return 1
end

-- owner, silence. Returns 0 for one that is banned. If no worker was heard for this long, the server stood still, or no one
-- reached it: then whatever lapsed meanwhile is excused by the next sweep (judge.lua).
if word == 'beat' then
  if call('HEXISTS', OWNERS, id) == 0 then
    if is_banned(id) then return 0 end
    call('HSET', OWNERS, id, ARGV[6])
  end
  call('ZADD', HEARD, num(now), id)
  local meta = call('HMGET', G .. 'meta', 'heard', 'excused', 'pace')
  local heard, pace = tonumber(meta[1] or ''), tonumber(meta[3] or '')
  if meta[1] ~= meta[2] and is_silence(now, heard, meta[3], ARGV[7]) then call('HSETNX', G .. 'meta', 'unheard', num(heard)) end
  -- One that is out of all proportion says nothing of how slow they are.
  local pause = heard and math.max(0, math.min(now - heard, 2 * tonumber(ARGV[7]))) or 0
  call('HSET', G .. 'meta', 'heard', num(now), 'pace', num(pace and 0.8 * pace + 0.2 * pause or pause))
  return 1
end

if word == 'leave' then
  if call('HEXISTS', OWNERS, id) == 0 then return 0 end
  call('SADD', LEFT, id)
  return 1
end

-- how it ended: the first step of a retirement. Returns 1 for the first who says so.
if word == 'ban' then
  if is_banned(id) then return 0 end
  call('ZADD', G .. 'ban', num(now), id)
  call('ZREMRANGEBYSCORE', G .. 'ban', '-inf', num(now - KEEP))
  call('HSET', RETIRING, id, ARGV[6])
  return 1
end

-- The last step: nothing is left of what it held.
if word == 'retired' then
  drop()
  call('HDEL', RETIRING, id)
  return 1
end

-- silence in microseconds: take it off if it was silent for so long. Returns 1 if it was.
if word == 'remove' then
  local heard = tonumber(call('ZSCORE', HEARD, id) or '') or 0
  if call('HEXISTS', OWNERS, id) == 0 or call('HEXISTS', RETIRING, id) == 1 then return 0 end
  if now - heard < tonumber(ARGV[6]) then return 0 end
  drop()
  return 1
end

-- 'members'. Returns the time, and all that is listed above, as it stands there.
local function scores(key) return call('ZRANGE', key, 0, -1, 'WITHSCORES') end
return {num(now), call('HGETALL', OWNERS), scores(HEARD), scores(JOINED), call('SMEMBERS', LEFT), call('HGETALL', RETIRING)}
