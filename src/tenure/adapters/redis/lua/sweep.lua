-- Return what is overdue, or give everybody a fresh window. ARGV: 'look', 'grace' or 'move', limit, max attempts,
-- lease in microseconds, the moment at which it was judged that there was no gap (by G's time) and how long that is true;
-- then, where the roster is out of reach, the owners on it.
-- look:  adopts what has no deadline; returns how many are overdue, then the ids adopted.
-- grace: returns how many are lent.
-- move:  returns -1 if the judgement is too old; else for each id 1 (returned) or 2 (dead) and the id.
local P, mode, limit, max_attempts, lease = KEYS[1], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local now = time_of(P, true)
local present
if #ARGV > 9 then
  present = {}
  for i = 10, #ARGV do present[ARGV[i]] = true end
end

local function has_presence(owner)
  if present then return present[owner] end
  return call('HEXISTS', G .. 'roster', owner) == 1
end

local function seconds_under(fence)
  return read_loan(call('HGET', P .. 'loan', fence)) or lease
end

-- Whatever is lent without a deadline; and deadlines of what is not lent are dropped.
local function adopt()
  local adopted = {}
  if call('HLEN', P .. 'l') == call('ZCARD', P .. 'd') then return adopted end
  for _, id in ipairs(call('ZRANGE', P .. 'd', 0, -1)) do
    if call('HEXISTS', P .. 'l', id) == 0 then call('ZREM', P .. 'd', id) end
  end
  for _, id in ipairs(call('HKEYS', P .. 'l')) do
    if not call('ZSCORE', P .. 'd', id) then
      if read(call('HGET', P .. 'm', id)) then
        call('ZADD', P .. 'd', num(now + lease), id)
        adopted[#adopted + 1] = id
      else
        call('HDEL', P .. 'l', id)
      end
    end
  end
  return adopted
end

-- Old records go bucket by bucket, in the background.
local function forget()
  local oldest, newest = tonumber(call('HGET', P .. 'meta', 'bk') or ''), bucket_at(now)
  if not oldest or oldest >= newest - BUCKETS then return end
  for i = math.max(oldest, newest - BUCKETS - 100), newest - BUCKETS - 1 do call('UNLINK', P .. 'done:' .. i) end
  call('HSET', P .. 'meta', 'bk', newest - BUCKETS)
end

if mode == 'look' then
  local adopted = adopt()
  forget()
  return {call('ZCOUNT', P .. 'd', '-inf', '(' .. num(now)), unpack(adopted, 1, math.min(#adopted, 5000))}
end

if mode == 'grace' then
  local lent = call('HGETALL', P .. 'l')
  local fresh, windows = {}, {}
  for i = 1, #lent, 2 do
    local fence = lent[i + 1]
    windows[fence] = windows[fence] or seconds_under(fence)
    fresh[#fresh + 1], fresh[#fresh + 2] = num(now + windows[fence]), lent[i]
  end
  for i = 1, #fresh, PIECE do call('ZADD', P .. 'd', 'GT', unpack(fresh, i, math.min(i + PIECE - 1, #fresh))) end
  return #lent / 2
end

if time_of(G, false) - tonumber(ARGV[8]) > tonumber(ARGV[9]) then return -1 end
local moved, stirred = {}, false
for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'd', '-inf', '(' .. num(now), 'LIMIT', 0, limit)) do
  local record, fence = call('HGET', P .. 'm', id), call('HGET', P .. 'l', id)
  local _, level, place = read(record)
  if not level or not fence then
    call('ZREM', P .. 'd', id)
    call('HDEL', P .. 'l', id)
  else
    local key, owner = P .. 'x:' .. id, owner_of(P, fence)
    record = special(P, id, record, 1)
    unlend(P, id, fence)
    local x = call('HMGET', key, 'k', 'u', 'a', 'ma')
    local most, dead = tonumber(x[4] or '') or max_attempts, false
    if owner and has_presence(owner) then
      call('HINCRBY', key, 'l', 1)
      remember(P, id, ending('lost', owner))
    else
      local who = owner or 'its holder'
      local lapsed = cjson.encode({code = 'lease_lapsed',
        text = who .. ' let the lease end without settling the message'})
      remember(P, id, ending('failed', owner, lapsed))
      dead = call('HINCRBY', key, 'a', 1) >= most
      if dead then
        local reason = cjson.encode({code = 'max_attempts',
          text = 'all ' .. most .. ' attempts are used; the last one let its lease end'})
        remember(P, id, ending('dead', owner, reason))
        bury(P, id, record, reason)
      else
        call('HSET', key, 'r', lapsed)
      end
    end
    if not dead then
      end_claim(P, id, x[1], 'release')
      let_wait(P, id, level, place, nil, x[2])
      stirred = true
    end
    moved[#moved + 1], moved[#moved + 2] = dead and 2 or 1, id
  end
end
if stirred then call('PUBLISH', P .. 'wake', '') end
return moved
