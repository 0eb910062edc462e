-- Return what is overdue, or give leases a fresh window: once between two touches, marked by half a microsecond in the
-- deadline, so that nothing is excused for ever. ARGV: mode, lease in microseconds, then
-- look:  several queues; limit. Adopts what has no deadline. Returns for each queue its time, how many are overdue, 1 if the
--        server is another one than before, or restarted, while something was lent; 0 if nothing is there, 1 if something is,
--        2 if something is lent, -1 if it was empty for an hour and is forgotten; and the ids adopted.
-- grace: one queue; cursor. Returns the next cursor, and how many got a fresh window.
-- excuse: one queue; how long a silence was, and how many of those that lapsed in it to skip. The others get a fresh window.
--        Returns 1 if there may be more, how many got one, and how many were left as they are.
-- move:  one queue; limit, max attempts, most losses, its time by the look and how long that counts; the texts for a
--        lapse, the last attempt and too many losses, the name of an unknown owner, and how owners over HTTP begin. Decides as rules/lapse.py does.
--        Returns -1 if the look is too old; else for each id 1 (returned) or 2 (dead) and the id.
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
      -- Also one that cannot be read: it is put right when no owner holds it any more.
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
local function forget(P, now, meta)
  width_of(P, meta[5] or '')
  local oldest, kept = stored(meta[4]), bucket_at(P, now - KEEP)
  if not oldest or oldest >= kept then return end
  for i = math.max(oldest, kept - 100), kept - 1 do
    call('UNLINK', P .. 'done:' .. i, P .. 'ended:C:' .. i, P .. 'ended:X:' .. i)
  end
  call('HSET', P .. 'meta', 'bk', kept)
end

-- This queue is looked at again when its first lease has ended.
local function note_lent(P, now)
  if IS_APART then return end
  local first = call('ZRANGE', P .. 'd', 0, 0, 'WITHSCORES')
  local left = math.min(LONGEST, (tonumber(first[2] or '') or now) - now)
  redis.pcall('ZADD', G .. 'lent', num(listing_time() + left), P)
end

-- Queues in which nothing is lent.
local unlent = {}

-- What is to be seen in one queue; of one in which nothing is lent with few commands, because most are such: the time there is
-- written only where the clock went back.
local function look(P, run, limit, waiting, lent, dated)
  local meta = call('HMGET', P .. 'meta', 't', 'o', 'run', 'bk', 'bw')
  local is_written = lent > 0 or dated > 0 or raw_time() < (stored(meta[1]) or 0)
  local now, known, began_anew = time_of(P, is_written, meta), meta[3], 0
  if run ~= '' and known ~= run then
    -- It is written down when everybody has got a fresh window.
    if known and lent > 0 then began_anew = 1 else call('HSET', P .. 'meta', 'run', run) end
  end
  local overdue, adopted = dated > 0 and call('ZCOUNT', P .. 'd', '-inf', '(' .. num(now)) or 0, {}
  if overdue <= limit then
    -- Else another batch follows soon, and this is done with the last one.
    forget(P, now, meta)
    adopted = adopt(P, now, lent, dated)
    if dated > 0 then
      shorten(P, now, adopted)
      dated = call('ZCARD', P .. 'd')
    end
  end
  if lent > 0 or dated > 0 then
    note_lent(P, now)
    return {num(now), overdue, began_anew, 2, unpack(adopted, 1, math.min(#adopted, 5000))}
  end
  unlent[#unlent + 1] = P
  local has_some = waiting > 0 or redis.pcall('ZCARD', P .. 'z') ~= 0 or redis.pcall('ZCARD', P .. 'dead') ~= 0
  return {num(now), overdue, began_anew, has_some and 1 or -forget_if_idle(P, now)}
end

if mode == 'look' then
  local run, limit, counts, reply = run_id(), tonumber(ARGV[6]), {}, {}
  for i = 1, #KEYS - 1 do
    -- A key of another kind must be found before anything is changed.
    local P, lent, dated = KEYS[i], 0, 0
    if call('EXISTS', P .. 'l', P .. 'd') > 0 then lent, dated = call('HLEN', P .. 'l'), call('ZCARD', P .. 'd') end
    counts[i] = {call('HLEN', P .. 'm'), lent, dated}
  end
  for i = 1, #KEYS - 1 do reply[i] = look(KEYS[i], run, limit, unpack(counts[i])) end
  if #unlent > 0 and not IS_APART then redis.pcall('ZREM', G .. 'lent', unpack(unlent)) end
  return reply
end

-- A fresh window for what is lent under `fences`, where it ends later than what is left, and none was given since its last
-- touch. Returns how many got one.
local function give_window(P, now, ids, fences)
  local fresh, windows = {}, {}
  for n, score in ipairs(scores(P .. 'd', ids)) do
    local fence = fences[n] or ''
    windows[fence] = windows[fence] or now + math.max(1, read_loan(call('HGET', P .. 'loan', fence)) or lease)
    local deadline = tonumber(score or '')
    if deadline and deadline % 1 == 0 and deadline < windows[fence] then
      fresh[#fresh + 1], fresh[#fresh + 2] = fmt('%.1f', windows[fence] + 0.5), ids[n]
    end
  end
  many('ZADD', P .. 'd', fresh)
  return #fresh / 2
end

local P = KEYS[1]
local now = time_of(P, true)

if mode == 'grace' then
  check_queue(P)
  local page = call('HSCAN', P .. 'l', ARGV[6], 'COUNT', MANY)
  local lent, ids, fences = page[2], {}, {}
  for i = 1, #lent, 2 do ids[#ids + 1], fences[#fences + 1] = lent[i], lent[i + 1] end
  local given = give_window(P, now, ids, fences)
  note_lent(P, now)
  if page[1] == '0' then
    local run = run_id()
    if run ~= '' then call('HSET', P .. 'meta', 'run', run) end
  end
  return {page[1], given}
end

if mode == 'excuse' then
  check_queue(P)
  local skipped = tonumber(ARGV[7])
  local ids = call('ZRANGEBYSCORE', P .. 'd', num(now - tonumber(ARGV[6])), num(now), 'LIMIT', skipped, MANY)
  local given = give_window(P, now, ids, fetch(P .. 'l', ids))
  note_lent(P, now)
  return {#ids == MANY and 1 or 0, given, #ids - given}
end

local limit, max_attempts, max_lost = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
if now - tonumber(ARGV[9]) > tonumber(ARGV[10]) then return -1 end
local LAPSED, USED_UP, TOO_OFTEN, UNKNOWN, REMOTE = ARGV[11], ARGV[12], ARGV[13], ARGV[14], ARGV[15]

local function reason(code, text, values)
  return cjson.encode({code = code, text = (text:gsub('{(%l+)}', values))})
end

local holders = {}

-- The holder and the text about it, worked out once for each loan.
local function holder_under(fence)
  local holder = holders[fence]
  if holder then return holder end
  local _, owner, _, has_presence = read_loan(call('HGET', P .. 'loan', fence))
  holder = {owner = owner}
  if has_presence then
    holder.counter, holder.text = 'l', ending('lost', owner)
  else
    holder.lapsed = reason('lease_lapsed', LAPSED, {owner = owner or UNKNOWN})
    holder.counter, holder.text = 'a', ending('failed', owner, holder.lapsed)
    -- Over HTTP: of a lease that was never touched perhaps no client learned.
    if owner and sub(owner, 1, #REMOTE) == REMOTE then
      holder.untouched = {owner = owner, counter = 'l', text = ending('lost', owner)}
    end
  end
  holders[fence] = holder
  return holder
end

local function was_touched(id, fence)
  local text = redis.pcall('HGET', P .. 'beats', id)
  return type(text) == 'string' and sub(text, 1, #fence + 1) == fence .. ':'
end

-- How the lapse of one message is counted.
local function holder_of(id, fence)
  local holder = holder_under(fence)
  if holder.untouched and not was_touched(id, fence) then return holder.untouched end
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
      look_at(back, id, fences[n], record, level, place)
      -- It may be its last attempt.
      if holder_under(fences[n]).lapsed and asks(record) then check_announcements(P) end
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
  local holder = holder_of(one.id, one.fence)
  local count = tell(back, one, holder.counter, holder.text, holder.lapsed)
  local most, lost, dead = stored(one.x[3], 1) or max_attempts, count_of(one.x[4]), nil
  if holder.lapsed and count >= most then
    dead = reason('max_attempts', USED_UP, {attempts = num(count), limit = num(most)})
  elseif holder.lapsed and tonumber(lost) >= max_lost then
    dead = reason('max_lost', TOO_OFTEN, {lost = lost})
  end
  if dead then
    remember(P, one.id, ending('dead', holder.owner, dead))
    bury(P, one.id, one.record, dead)
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
note_lent(P, now)
return moved
