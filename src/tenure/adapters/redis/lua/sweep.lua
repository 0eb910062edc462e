-- Return what is overdue, or give everybody a fresh window. ARGV: mode, lease in microseconds, then
-- look:  several queues; limit. Adopts what has no deadline. Returns for each queue its time, how many are overdue, 1 if the
--        server is another one than before, or began anew, while something was lent, and the ids adopted.
-- grace: one queue; cursor. Returns the next cursor, and how many got a fresh window.
-- excuse: one queue; how long a silence was. What lapsed in it gets a fresh window. Returns 1 if there may be more, and how
--        many got one.
-- move:  one queue; limit, max attempts, its time by the look and how long that counts; then, where the roster is out of
--        reach, '1' and the owners on it. Returns -1 if the look is too old; else for each id 1 (returned) or 2
--        (dead) and the id.
local mode, lease = ARGV[4], tonumber(ARGV[5])
-- So many leases and deadlines are compared in one step, of those that there are: where their numbers differ, and else.
local MANY, FEW = 10000, 100
-- So many times what is missing to a full batch is looked for, where remains are in front.
local ROUNDS = 10

local function cursor_of(text) return text and match(text, '^%d+$') or '0' end

local function scores(key, ids)
  local all = {}
  for i = 1, #ids, PIECE do
    local piece = call('ZMSCORE', key, unpack(ids, i, math.min(i + PIECE - 1, #ids)))
    for j = 1, #piece do all[#all + 1] = piece[j] end
  end
  return all
end

local function firsts(pairs_)
  local all = {}
  for i = 1, #pairs_, 2 do all[#all + 1] = pairs_[i] end
  return all
end

-- What is lent without a deadline gets one; deadlines of what is not lent are dropped, and so are leases of nothing.
-- A part of them each time, so that remains, however many, never hold up the server.
local function adopt(P, now, lent, dated)
  local adopted = {}
  if lent + dated == 0 then return adopted end
  local count, at = lent == dated and FEW or MANY, call('HMGET', P .. 'meta', 'al', 'ad')
  local leases = call('HSCAN', P .. 'l', cursor_of(at[1]), 'COUNT', count)
  local deadlines = call('ZSCAN', P .. 'd', cursor_of(at[2]), 'COUNT', count)
  if leases[1] ~= at[1] or deadlines[1] ~= at[2] then
    call('HSET', P .. 'meta', 'al', leases[1], 'ad', deadlines[1])
  end
  local ids, undated = firsts(leases[2]), {}
  for n, score in ipairs(scores(P .. 'd', ids)) do
    if not score then undated[#undated + 1] = ids[n] end
  end
  local fresh, nothing = {}, {}
  for n, record in ipairs(fetch(P .. 'm', undated)) do
    if record then
      -- One that cannot be read, too: when nobody holds it any more, it is put right.
      adopted[#adopted + 1] = undated[n]
      fresh[#fresh + 1], fresh[#fresh + 2] = num(now + lease), undated[n]
    else
      nothing[#nothing + 1] = undated[n]
    end
  end
  many('ZADD', P .. 'd', fresh)
  many('HDEL', P .. 'l', nothing)
  ids = firsts(deadlines[2])
  local remains = {}
  for n, fence in ipairs(fetch(P .. 'l', ids)) do
    if not fence then remains[#remains + 1] = ids[n] end
  end
  many('ZREM', P .. 'd', remains)
  return adopted
end

-- What is lent for more than ten years was written by hand: it gets a deadline, as if it had none.
local function shorten(P, now, adopted)
  for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'd', num(now + LONGEST + AHEAD), '+inf', 'LIMIT', 0, PIECE)) do
    call('ZADD', P .. 'd', num(now + lease), id)
    if call('HEXISTS', P .. 'l', id) == 1 then adopted[#adopted + 1] = id end
  end
end

-- Old records go bucket by bucket, in the background.
local function forget(P, now)
  local oldest, kept = stored(call('HGET', P .. 'meta', 'bk')), bucket_at(P, now - KEEP)
  if not oldest or oldest >= kept then return end
  for i = math.max(oldest, kept - 100), kept - 1 do call('UNLINK', P .. 'done:' .. i) end
  call('HSET', P .. 'meta', 'bk', kept)
end

if mode == 'look' then
  local run, reply = run_id(), {}
  for i = 1, #KEYS - 1 do
    -- A key of another kind must be found before anything is changed.
    call('HLEN', KEYS[i] .. 'm')
    call('HLEN', KEYS[i] .. 'l')
    call('ZCARD', KEYS[i] .. 'd')
  end
  for i = 1, #KEYS - 1 do
    local P = KEYS[i]
    local now, lent = time_of(P, true), call('HLEN', P .. 'l')
    local known, began_anew = call('HGET', P .. 'meta', 'run'), 0
    if run ~= '' and known ~= run then
      -- It is written down when everybody has got a fresh window.
      if known and lent > 0 then began_anew = 1 else call('HSET', P .. 'meta', 'run', run) end
    end
    local overdue, adopted = call('ZCOUNT', P .. 'd', '-inf', '(' .. num(now)), {}
    if overdue <= tonumber(ARGV[6]) then
      -- Else another batch follows soon, and this is done with the last one.
      forget(P, now)
      adopted = adopt(P, now, lent, call('ZCARD', P .. 'd'))
      shorten(P, now, adopted)
    end
    reply[i] = {num(now), overdue, began_anew, unpack(adopted, 1, math.min(#adopted, 5000))}
  end
  return reply
end

local P = KEYS[1]
local now = time_of(P, true)

if mode == 'grace' then
  check_queue(P)
  local page = call('HSCAN', P .. 'l', ARGV[6], 'COUNT', MANY)
  local lent, fresh, windows = page[2], {}, {}
  for i = 1, #lent, 2 do
    local fence = lent[i + 1]
    windows[fence] = windows[fence] or num(now + (read_loan(call('HGET', P .. 'loan', fence)) or lease))
    fresh[#fresh + 1], fresh[#fresh + 2] = windows[fence], lent[i]
  end
  for i = 1, #fresh, PIECE do call('ZADD', P .. 'd', 'GT', unpack(fresh, i, math.min(i + PIECE - 1, #fresh))) end
  if page[1] == '0' then
    local run = run_id()
    if run ~= '' then call('HSET', P .. 'meta', 'run', run) end
  end
  return {page[1], #lent / 2}
end

if mode == 'excuse' then
  check_queue(P)
  local ids = call('ZRANGEBYSCORE', P .. 'd', num(now - tonumber(ARGV[6])), num(now), 'LIMIT', 0, MANY)
  local fresh = {}
  for n, fence in ipairs(fetch(P .. 'l', ids)) do
    local seconds = fence and read_loan(call('HGET', P .. 'loan', fence)) or lease
    fresh[#fresh + 1], fresh[#fresh + 2] = num(now + math.max(1, seconds)), ids[n]
  end
  many('ZADD', P .. 'd', fresh)
  return {#ids == MANY and 1 or 0, #ids}
end

local limit, max_attempts = tonumber(ARGV[6]), tonumber(ARGV[7])
if now - tonumber(ARGV[8]) > tonumber(ARGV[9]) then return -1 end
local present
if ARGV[10] then
  present = {}
  for i = 11, #ARGV do present[ARGV[i]] = true end
end

local function has_presence(owner)
  if present then return present[owner] end
  return call('HEXISTS', G .. 'roster', owner) == 1
end

local holders = {}

-- Who held it, and what is told of that: worked out once for each loan.
local function holder_under(fence)
  local holder = holders[fence]
  if holder then return holder end
  local owner = owner_of(P, fence)
  holder = {owner = owner}
  if owner and has_presence(owner) then
    holder.counter, holder.text = 'l', ending('lost', owner)
  else
    holder.lapsed = cjson.encode({code = 'lease_lapsed',
      text = (owner or 'its holder') .. ' let the lease end without settling the message'})
    holder.counter, holder.text = 'a', ending('failed', owner, holder.lapsed)
  end
  holders[fence] = holder
  return holder
end

-- First everything is looked at. What has no lease or no record any more is only removed.
local back, remains, unreadable, seen = begin_return(P), {}, {}, 0
for _ = 1, ROUNDS do
  local ids = call('ZRANGEBYSCORE', P .. 'd', '-inf', '(' .. num(now), 'LIMIT', seen, limit - #back.all)
  local records, fences = fetch(P .. 'm', ids), fetch(P .. 'l', ids)
  for n, id in ipairs(ids) do
    local record = fences[n] and readable(P, id, records[n])
    local _, level, place = read(record)
    if level then
      holder_under(fences[n])
      look_at(back, id, fences[n], record, level, place)
    else
      remains[#remains + 1] = id
      if fences[n] and records[n] then
        call('HLEN', P .. 'x:' .. id)
        call('LLEN', P .. 'h:' .. id)
        unreadable[#unreadable + 1] = {id, records[n]}
      end
    end
  end
  seen = seen + #ids
  if #ids == 0 or #back.all >= limit then break end
end

local moved = {}
for _, one in ipairs(back.all) do
  local holder = holder_under(one.fence)
  local count = tell(back, one, holder.counter, holder.text, holder.lapsed)
  local most = stored(one.x[3], 1) or max_attempts
  local dead = holder.lapsed and count >= most
  if dead then
    local reason = cjson.encode({code = 'max_attempts',
      text = 'all ' .. most .. ' attempts are used; the last one let its lease end'})
    remember(P, one.id, ending('dead', holder.owner, reason))
    bury(P, one.id, one.record, reason)
  end
  add(back, one, not dead)
  moved[#moved + 1], moved[#moved + 2] = dead and 2 or 1, one.id
end
many('ZREM', P .. 'd', remains)
many('HDEL', P .. 'l', remains)
for _, one in ipairs(unreadable) do
  moved[#moved + 1], moved[#moved + 2] = 2, set_aside_unreadable(P, one[1], one[2])
end
finish(back)
return moved
