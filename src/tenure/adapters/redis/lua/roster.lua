-- Who is there. ARGV: word, then the rest.
--   roster   hash id -> owner, from join until it is retired; left: those that said goodbye
--   until    zset: how long its last word counts; line: the connection that proves it; gone: since when that is not there
-- The connections are listed for all, by whoever beats when it is time; the others go by what that list has shown.
local word, now = ARGV[4], time_of(G, true)
--   silent   set: those of whom nothing was heard, though their connection did not end
local OWNERS, LEFT, UNTIL, LINE, GONE = G .. 'roster', G .. 'left', G .. 'until', G .. 'line', G .. 'gone'
local SILENT = G .. 'silent'

-- A key of another kind where one of ours should be must be found before anything is changed: reading it is an error.
for _, key in ipairs({OWNERS, LINE, GONE, G .. 'meta'}) do call('HLEN', key) end
for _, key in ipairs({UNTIL, G .. 'ban'}) do call('ZCARD', key) end
for _, key in ipairs({LEFT, SILENT}) do call('SCARD', key) end

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

-- owner's id, connection, window, pause between lists, silence, owner. Returns 0 for one that is banned, 2 for whom it is
-- the turn to list the connections. If nobody was heard for so long, the server stood still, or nobody reached it: then
-- whatever lapsed meanwhile is excused by the next sweep (judge.lua).
if word == 'beat' then
  if call('HEXISTS', OWNERS, ARGV[5]) == 0 then
    if is_banned(ARGV[5]) then return 0 end
    -- It lives, and nobody retired it: what was known of it is lost.
    call('HSET', OWNERS, ARGV[5], ARGV[10])
  end
  call('ZADD', UNTIL, num(now + tonumber(ARGV[7])), ARGV[5])
  call('HSET', LINE, ARGV[5], ARGV[6])
  call('HDEL', GONE, ARGV[5])
  call('SREM', SILENT, ARGV[5])
  local meta = call('HMGET', G .. 'meta', 'asked', 'heard', 'excused')
  local asked, heard = tonumber(meta[1] or ''), tonumber(meta[2] or '')
  if heard and now - heard > tonumber(ARGV[9]) and meta[2] ~= meta[3] then call('HSET', G .. 'meta', 'unheard', 1) end
  call('HSET', G .. 'meta', 'heard', num(now))
  if asked and now - asked < tonumber(ARGV[8]) then return 1 end
  call('HSET', G .. 'meta', 'asked', num(now))
  return 2
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
-- how long nothing must have been heard, how old a list may be, '1' if the looker's own connection is a new one; then
-- 'list' and the connections, 'marks' to go by the last list, or 'words' if there is none to be had. Returns -1 if the last
-- list is too old; else id, owner and proof of each: '' alive, 'left', 'silent', 'gone', 'again'.
local window, gap, wait, absent = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local unheard, fresh, by = tonumber(ARGV[9]), tonumber(ARGV[10]), ARGV[12]
local meta = call('HMGET', G .. 'meta', 'looked', 'trust', 'run', 'listed')
local looked, trust, listed = tonumber(meta[1] or ''), tonumber(meta[2] or '') or 0, tonumber(meta[4] or '') or 0
if by == 'marks' and (not meta[4] or now - listed > fresh) then return -1 end
local all, owners = {}, {}
local found = call('HGETALL', OWNERS)
for i = 1, #found, 2 do
  local is_read, owner = pcall(cjson.decode, found[i + 1])
  if is_read and type(owner) == 'table' and type(owner.name) == 'string' and found[i] == tostring(owner.name) .. '/' .. tostring(owner.nonce) then
    all[#all + 1], all[#all + 2], owners[found[i]] = found[i], found[i + 1], owner
  else
    -- It was not put there by Tenure, and nobody could ever retire it.
    call('HDEL', OWNERS, found[i])
  end
end
-- Another word after a restart, and for another master.
local info = redis.pcall('INFO', 'replication')
local run = type(info) == 'string' and match(info, 'master_replid:(%w+)') or ''
local began_anew = meta[3] and run ~= meta[3]
call('HSET', G .. 'meta', 'looked', num(now), 'run', run)
if looked and (began_anew or now - looked > gap or ARGV[11] == '1') then
  -- Nobody looked, so perhaps nobody could be heard either; or the server is another one than before, or began anew,
  -- and all connections ended with it; or ours did, and others with it. Everybody gets a fresh window.
  trust = now + wait
  call('HSET', G .. 'meta', 'trust', num(trust))
  call('DEL', GONE)
  -- A connection to another server proves nothing here: whoever lives says its own again with its next word.
  if began_anew then call('DEL', LINE) end
  for i = 1, #all, 2 do call('ZADD', UNTIL, 'GT', num(now + window), all[i]) end
end
local lines, newest = {}, {}
if by == 'list' then
  for i = 13, #ARGV do lines[ARGV[i]] = true end
  listed = now
  call('HSET', G .. 'meta', 'listed', num(now))
end
for i = 1, #all, 2 do
  local owner = owners[all[i]]
  local started = tonumber(owner.started_at) or 0
  if not newest[owner.name] or started > newest[owner.name] then newest[owner.name] = started end
end

-- Its connection is not there, and has not been for a while. One that says something all the same is not dead.
local function is_gone(id, owner, heard)
  local line = call('HGET', LINE, id)
  if not line or by == 'words' then return '' end
  if by == 'list' then
    if lines[line] then
      call('HDEL', GONE, id)
    else
      call('HSETNX', GONE, id, num(now))
    end
  end
  local since = tonumber(call('HGET', GONE, id) or '')
  if not since or now - heard < unheard then return '' end
  if (tonumber(owner.started_at) or 0) < newest[owner.name] then return 'again' end
  if listed >= trust and listed - since >= absent then return 'gone' end
  return ''
end

local reply = {}
for i = 1, #all, 2 do
  local id, proof = all[i], ''
  local counts = tonumber(call('ZSCORE', UNTIL, id) or '') or 0
  if call('SISMEMBER', LEFT, id) == 1 then
    proof = 'left'
  else
    proof = is_gone(id, owners[id], counts - window)
  end
  if proof == '' and counts < now then
    -- It is frozen, or its machine is gone. Nobody knows, so it is not called a crash.
    proof = 'silent'
    call('SADD', SILENT, id)
  end
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = id, all[i + 1], proof
end
return reply
