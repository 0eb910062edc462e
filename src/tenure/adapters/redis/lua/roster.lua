-- Who is there. ARGV: word, then the rest.
--   roster   hash id -> owner, from join until it is retired; left: those that said goodbye
--   until    zset: how long its last word counts; line: the connection that proves it; gone: since when that is not there
local word, now = ARGV[4], time_of(G, true)
--   silent   set: those of whom nothing was heard, though their connection did not end
local OWNERS, LEFT, UNTIL, LINE, GONE = G .. 'roster', G .. 'left', G .. 'until', G .. 'line', G .. 'gone'
local SILENT = G .. 'silent'

-- owner's id, owner, connection, window in microseconds. Returns 0 for one that is banned.
if word == 'join' then
  local id = ARGV[5]
  if is_banned(id) then return 0 end
  call('HSET', OWNERS, id, ARGV[6])
  call('ZADD', UNTIL, num(now + tonumber(ARGV[8])), id)
  call('HSET', LINE, id, ARGV[7])
  call('HDEL', GONE, id)
  call('SREM', LEFT, id)
  call('SREM', SILENT, id)
  return 1
end

-- owner's id, connection, window
if word == 'beat' then
  if call('HEXISTS', OWNERS, ARGV[5]) == 0 then return 0 end
  call('ZADD', UNTIL, num(now + tonumber(ARGV[7])), ARGV[5])
  call('HSET', LINE, ARGV[5], ARGV[6])
  call('HDEL', GONE, ARGV[5])
  call('SREM', SILENT, ARGV[5])
  return 1
end

if word == 'leave' then
  if call('HEXISTS', OWNERS, ARGV[5]) == 0 then return 0 end
  call('SADD', LEFT, ARGV[5])
  return 1
end

-- owner's id: its messages are returned, in every queue.
if word == 'retire' then
  call('ZADD', G .. 'ban', num(now), ARGV[5])
  call('ZREMRANGEBYSCORE', G .. 'ban', '-inf', num(now - KEEP))
  call('HDEL', OWNERS, ARGV[5])
  call('HDEL', LINE, ARGV[5])
  call('HDEL', GONE, ARGV[5])
  call('ZREM', UNTIL, ARGV[5])
  call('SREM', LEFT, ARGV[5])
  call('SREM', SILENT, ARGV[5])
  return 1
end

-- window, longest pause between looks, pause before a connection that is gone proves anything, how long it must be gone,
-- '1' if the connections follow. Returns id, owner and proof of each: '' alive, 'left', 'silent', 'gone', 'again'.
local window, gap, wait, absent = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local meta = call('HMGET', G .. 'meta', 'looked', 'trust')
local looked, trust = tonumber(meta[1] or ''), tonumber(meta[2] or '') or 0
local all = call('HGETALL', OWNERS)
call('HSET', G .. 'meta', 'looked', num(now))
if not looked or now - looked > gap then
  -- Nobody looked, so perhaps nobody could be heard either: everybody gets a fresh window.
  trust = now + wait
  call('HSET', G .. 'meta', 'trust', num(trust))
  call('DEL', GONE)
  for i = 1, #all, 2 do call('ZADD', UNTIL, 'GT', num(now + window), all[i]) end
end
local lines, newest = nil, {}
if ARGV[9] == '1' then
  lines = {}
  for i = 10, #ARGV do lines[ARGV[i]] = true end
end
for i = 1, #all, 2 do
  local owner = cjson.decode(all[i + 1])
  local started = owner.started_at or 0
  if not newest[owner.name] or started > newest[owner.name] then newest[owner.name] = started end
end
local reply = {}
for i = 1, #all, 2 do
  local id, proof = all[i], ''
  local owner = cjson.decode(all[i + 1])
  if call('SISMEMBER', LEFT, id) == 1 then
    proof = 'left'
  elseif lines and not lines[call('HGET', LINE, id) or ''] then
    local since = tonumber(call('HGET', GONE, id) or '')
    if not since then
      since = now
      call('HSET', GONE, id, num(now))
    end
    if (owner.started_at or 0) < newest[owner.name] then
      proof = 'again'
    elseif now >= trust and now - since >= absent then
      proof = 'gone'
    end
  elseif lines then
    call('HDEL', GONE, id)
  end
  if proof == '' and (tonumber(call('ZSCORE', UNTIL, id) or '') or 0) < now then
    -- It is frozen, or its machine is gone. Nobody knows, so it is not called a crash.
    proof = 'silent'
    call('SADD', SILENT, id)
  end
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = id, all[i + 1], proof
end
return reply
