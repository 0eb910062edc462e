-- Lend from one queue or several. ARGV: owner, request, want, seconds, least and most seconds (microseconds all), '1' if
-- the owner has presence, most bytes of envelopes, how many this call has lent elsewhere; if these queues were found on the list
-- of those that have something (listed.lua), how many of them to tell for the next call, else ''; how many were lent from each
-- queue before (below zero, -1 for none: the list of all queues may lack it), then task and seconds of those that differ. The
-- first message of a call is lent whatever its size.
-- Returns -1 for a banned owner; else for each loan: number of the queue, fence, seconds, ids, envelopes, and place and
-- counters of those that are not lent for the first time. Of a listed queue in which a key is not ours: -2, its number, what is
-- wrong. Last, in a cluster: -3, and when to ask this queue again (0: now; else microseconds; -1: nothing is there); elsewhere, if
-- these were listed: -4, and those that have something now, in the order of their turns. Else, if nothing is left in them: -6, and
-- when something falls due (as -3).
local OWNER, REQUEST, SECONDS, LEAST, MOST = ARGV[4], ARGV[5], tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local HAS_PRESENCE, BYTES, BY_LIST = ARGV[10] == '1', tonumber(ARGV[11]), ARGV[13] ~= ''
-- A listed queue in which a key is not ours is asked again after so long.
local PATIENCE = 5000000
-- As in rules/rotation.py.
local FAIRNESS = 10
-- So many entries of a stream are read in one step: their sizes are not known before.
local ENTRIES = 16
local by_task
for i = 14 + #KEYS - 1, #ARGV, 2 do
  by_task = by_task or {}
  by_task[ARGV[i]] = tonumber(ARGV[i + 1])
end

-- Bytes that were taken, of how many messages; whether the next one was too many; whether some were passed over, so that
-- less than was asked for does not mean that nothing is left.
local bytes, count_taken, is_full, has_passed = 0, tonumber(ARGV[12]), false, false

-- Whether there is room for one more message of that size. If so, it counts.
local function fits(raw)
  if count_taken > 0 and bytes + #raw > BYTES then
    is_full = true
    return false
  end
  bytes, count_taken = bytes + #raw, count_taken + 1
  return true
end

-- The same moments are told of one queue after the other, and it is slow to print a number of that size.
local texts = {}
local function text_of(n)
  local text = texts[n]
  if not text then
    text = num(n)
    texts[n] = text
  end
  return text
end

-- Of a queue: how far each priority is read, as far as that was looked at; those of these that are not written down yet, as
-- fields of meta; and the highest place.
local cursors, unwritten, highest_place = {}, {}, nil

-- What was taken so far, to be put back if a key of another kind is met on the way; and where each stream was before.
local undo, was_at = {}, {}

local function put_back(P)
  for i = #undo, 1, -1 do call(unpack(undo[i])) end
  for level, before in pairs(was_at) do call('XGROUP', 'SETID', P .. 's' .. level, 'tenure', before) end
end

local function read_to(level, cursor)
  cursors[level] = cursor
  unwritten[#unwritten + 1], unwritten[#unwritten + 2] = 'c' .. level, cursor
end

-- When the first delayed message that is not due yet will be; nil: there is none. And whether some may have come back.
local next_due, has_back

local function promote(P, now)
  local first = call('ZRANGE', P .. 'z', 0, 0, 'WITHSCORES')
  next_due = tonumber(first[2] or '')
  if not next_due or next_due > now then return end
  next_due = now
  local found = call('ZRANGEBYSCORE', P .. 'z', '-inf', num(now), 'WITHSCORES', 'LIMIT', 0, PIECE)
  if #found == 0 then return end
  local due, scores = {}, {}
  for i = 1, #found, 2 do
    due[#due + 1] = found[i]
    scores[found[i]] = found[i + 1]
  end
  local records, by_level = fetch(P .. 'm', due), {}
  for n, id in ipairs(due) do
    local _, level, place = read(records[n])
    local places = level and (by_level[level] or {})
    if level then by_level[level], places[#places + 1], places[#places + 2] = places, place, id end
  end
  for level, places in pairs(by_level) do
    call('ZCARD', P .. 'b' .. level)
    for i = 2, #places, 2 do
      undo[#undo + 1] = {'ZADD', P .. 'z', scores[places[i]], places[i]}
      undo[#undo + 1] = {'ZREM', P .. 'b' .. level, places[i]}
    end
  end
  -- First something that frees memory: Redis refuses a script whose first write could need more than there is.
  many('ZREM', P .. 'z', due)
  for level, places in pairs(by_level) do many('ZADD', P .. 'b' .. level, places) end
end

-- Lent, delayed or dead: an entry was put by hand where it can be taken again.
local function is_elsewhere(P, id)
  return call('HGET', P .. 'l', id) or call('ZSCORE', P .. 'z', id) or call('ZSCORE', P .. 'dead', id)
end

-- What there is to say of a special message; of those that came back it is read with their envelope, and not again.
local SAID = {'a', 'c', 'l', 's', 'u', 'e'}
local said = {}
local function said_of(P, id)
  local x = said[id] or call('HMGET', P .. 'x:' .. id, unpack(SAID))
  said[id] = x
  return x
end

-- Which of many are elsewhere, as `is_elsewhere` says of one.
local function those_elsewhere(P, ids)
  local lent, delayed, dead = fetch(P .. 'l', ids), call('ZMSCORE', P .. 'z', unpack(ids)), call('ZMSCORE', P .. 'dead', unpack(ids))
  local elsewhere = {}
  for n, id in ipairs(ids) do elsewhere[id] = lent[n] or delayed[n] or dead[n] end
  return elsewhere
end

-- Those that came back, or fell due.
local function take_back(P, level, want, taken, raws, found)
  local ids = call('ZRANGE', P .. 'b' .. level, 0, want - 1)
  if #ids == 0 then return end
  local records, ahead = fetch(P .. 'm', ids), tonumber(match(read_until(P, level) or cursor_of(P, level, cursors[level]), '^%d+'))
  local over, before, elsewhere = {}, #taken, those_elsewhere(P, ids)
  for n, id in ipairs(ids) do
    local record = readable(P, id, records[n])
    local _, own, place = read(record)
    -- One that is still to be read from the stream is lent when it is.
    local comes = own and own == level and tonumber(place) > ahead
      and #call('XRANGE', P .. 's' .. level, place .. '-0', place .. '-0') > 0
    if own and not is_text(id) then
      set_aside_unreadable(P, id, raw_of(P, id, own, place), 'its id is no text')
    elseif own and not comes and not elsewhere[id] then
      local raw = said_of(P, id)[6] or raw_of(P, id, own, place)
      if not fits(raw) then break end
      raws[#taken + 1], found[#taken + 1] = raw, record
      taken[#taken + 1] = id
      undo[#undo + 1] = {'ZADD', P .. 'b' .. level, place, id}
    elseif records[n] and not own then
      set_aside_unreadable(P, id, records[n])
    end
    over[n] = id
  end
  has_passed = has_passed or #over > #taken - before
  many('ZREM', P .. 'b' .. level, over)
end

local function read_some(P, level, want)
  local key = P .. 's' .. level
  local reply = redis.pcall('XREADGROUP', 'GROUP', 'tenure', 'tenure', 'COUNT', want, 'NOACK', 'STREAMS', key, '>')
  if reply and reply.err then
    if not find(reply.err, 'NOGROUP', 1, true) then error(reply.err, 0) end
    call('XGROUP', 'CREATE', key, 'tenure', cursor_of(P, level, cursors[level]), 'MKSTREAM')
    reply = call('XREADGROUP', 'GROUP', 'tenure', 'tenure', 'COUNT', want, 'NOACK', 'STREAMS', key, '>')
  end
  return reply and reply[1] and reply[1][2] or {}
end

-- Up to `want` entries; no more are read once they fill the room that is left.
local function read_new(P, level, want)
  local entries, size, room = read_some(P, level, math.min(want, ENTRIES)), 0, BYTES - bytes
  local count, seen, asked = #entries, 0, math.min(want, ENTRIES)
  while count - seen == asked and count < want do
    for n = seen + 1, count do size = size + #(entries[n][2] and entries[n][2][4] or '') end
    if size > room then break end
    asked = math.min(want - count, ENTRIES)
    local more = read_some(P, level, asked)
    for n = 1, #more do entries[count + n] = more[n] end
    seen, count = count, count + #more
  end
  return entries
end

-- An entry that is not what its record says, or has none.
local function refuse(P, level, entry, record)
  local fields = entry[2] or {}
  local place, rest = match(entry[1], '^(%d+)-(%d+)$')
  -- A number that no place of ours can have.
  if not stored(place) then place = num(raw_time()) end
  local id, raw = 'malformed-' .. level .. '-' .. entry[1], cjson.encode(fields)
  if fields[1] == 'i' and fields[3] == 'e' then raw = fields[4] end
  -- It keeps its name, if it can be told and nothing else is known under it.
  if fields[1] == 'i' and not read(record) and rest == '0' and is_plain(fields[2])
    and not finished(P, time_of(P, false), {fields[2]}) then
    id = fields[2]
    call('DEL', P .. 'x:' .. id)
  end
  call('XDEL', P .. 's' .. level, entry[1])
  set_aside(P, id, level, place, raw, 'it was not put into the stream by Tenure, or its record is gone')
end

-- Those that are lent for the first time.
local function take_new(P, level, want, taken, raws, found)
  local kept = cursors[level]
  if kept == nil then kept = call('HGET', P .. 'meta', 'c' .. level) end
  local before = cursor_of(P, level, kept or '')
  local entries = read_new(P, level, want)
  if #entries == 0 then return end
  was_at[level] = was_at[level] or before
  -- The group was set back by hand: those that were read before are not lent twice.
  local again = tonumber(match(entries[1][1], '^%d+')) <= tonumber(match(before, '^%d+')) and {}
  for _, id in ipairs(again and taken or {}) do again[id] = true end
  local ids, count, already = {}, #entries, #taken
  for n = 1, count do
    local fields = entries[n][2]
    ids[n] = fields and #fields == 4 and fields[1] == 'i' and fields[3] == 'e' and fields[2] or ''
  end
  local records, size = fetch(P .. 'm', ids), #taken
  local last = again and num(tonumber(match(entries[1][1], '^%d+')) - 1) .. '-0' or before
  for n = 1, count do
    local entry, record = entries[n], records[n]
    local number = level .. sub(entry[1], 1, -3) .. '|'
    if record and (find(record, number, 1, true) or 9) <= 2 and sub(entry[1], -2) == '-0' then
      if not again or not (again[ids[n]] or is_elsewhere(P, ids[n]) or call('ZSCORE', P .. 'b' .. level, ids[n])) then
        if not fits(entry[2][4]) then
          -- This one and those behind it are read again by the next call.
          call('XGROUP', 'SETID', P .. 's' .. level, 'tenure', last)
          break
        end
        size = size + 1
        taken[size], raws[size], found[size] = ids[n], entry[2][4], record
      end
    else
      refuse(P, level, entry, record)
    end
    last = entry[1]
  end
  has_passed = has_passed or size - already < count
  local highest = math.max(highest_place or 0, raw_time())
  if tonumber(match(last, '^%d+')) > highest and go_on_from(P, level, highest) then
    read_to(level, num(highest) .. '-0')
  elseif not again or tonumber(match(last, '^%d+')) > tonumber(match(before, '^%d+')) then
    read_to(level, last)
  end
end

local function take(P, level, want, taken, raws, found)
  if is_full then return end
  local goal = #taken + want
  if has_back then take_back(P, level, want, taken, raws, found) end
  if #taken < goal and not is_full then take_new(P, level, goal - #taken, taken, raws, found) end
end

-- The priority below `top` whose next message came first.
local function oldest_below(P, levels, top)
  local oldest, chosen
  for level in levels:gmatch('.') do
    if level < top then
      local first = call('ZRANGE', P .. 'b' .. level, 0, 0, 'WITHSCORES')
      local place = tonumber(first[2])
      local cursor = cursor_of(P, level, cursors[level])
      local entry = entries_after(P, level, cursor, 1)[1]
      local other = entry and tonumber(match(entry[1], '^%d+'))
      if other and (not place or other < place) then place = other end
      if place and (not oldest or place < oldest) then oldest, chosen = place, level end
    end
  end
  return chosen
end

-- The highest priority first; but every tenth is the oldest one of a lower priority, if there is one.
local function choose(P, levels, want, lent)
  local taken, raws, found = {}, {}, {}
  if #levels == 1 then
    take(P, levels, want, taken, raws, found)
    return taken, raws, found
  end
  local turns = math.floor((lent + want) / FAIRNESS) - math.floor(lent / FAIRNESS)
  local top
  for level in levels:gmatch('.') do
    if #taken < want - turns then
      take(P, level, want - turns - #taken, taken, raws, found)
      if #taken > 0 then top = top or level end
    elseif not top and turns > 0 then
      local cursor = cursor_of(P, level, cursors[level])
      if call('ZCARD', P .. 'b' .. level) > 0
        or #entries_after(P, level, cursor, 1) > 0 then
        top = level
      end
    end
  end
  while top and turns > 0 do
    turns = turns - 1
    local level, before = oldest_below(P, levels, top), #taken
    if not level then break end
    take(P, level, 1, taken, raws, found)
    if #taken == before then break end
  end
  for level in levels:gmatch('.') do
    if #taken < want then take(P, level, want - #taken, taken, raws, found) end
  end
  return taken, raws, found
end

local function own_seconds(record, own)
  local seconds = stored(own) or (by_task and by_task[match(record, '|[^|]*|([^' .. ASKS .. ']*)')])
  return seconds and math.max(LEAST, math.min(MOST, seconds)) or SECONDS
end

-- What a special message has to say: counters, seconds, envelope. It waits no longer under its `unique`.
local function details(P, id, record, raw, x)
  local counters = num(raise(P .. 'x:' .. id, 'd', 1)) .. ':' .. count_of(x[1]) .. ':' .. count_of(x[2]) .. ':' .. count_of(x[3])
  if x[5] then call('ZREM', P .. 'u:' .. x[5], id) end
  return counters, own_seconds(record, x[4]), x[6] or raw
end

-- What is due falls due. What can be lent, and what there is to say of those that are special; nothing, if a key of another kind is in the way.
local function pick(P, now, levels, want, lent)
  next_due, has_back = nil, #levels > 1 or call('EXISTS', P .. 'z', P .. 'b' .. levels) > 0
  if has_back then promote(P, now) end
  local ids, raws, records = choose(P, levels, want, lent)
  local more = {}
  for n, id in ipairs(ids) do
    if string.byte(records[n]) == 120 then
      more[n] = said_of(P, id)
      if more[n][5] then call('ZCARD', P .. 'u:' .. more[n][5]) end
    end
  end
  if next(more) then
    -- Counters cannot be put back: a key of another kind must be found before they are raised.
    call('HLEN', P .. 'l')
    call('ZCARD', P .. 'd')
    call('HLEN', P .. 'loan')
    call('HLEN', P .. 'n')
  end
  return ids, raws, records, more
end

-- From now on these are lent.
local WHO = '|' .. #OWNER .. '|' .. OWNER .. REQUEST .. (HAS_PRESENCE and '' or NO_PRESENCE)
local function note_loans(P, order, marks, deadlines)
  local loans, sizes = P .. 'loan', P .. 'n'
  for _, loan in ipairs(order) do
    call('HSET', loans, loan.fence, loan.seconds .. WHO)
    call('HSET', sizes, loan.fence, loan.size)
  end
  many('HSET', P .. 'l', marks)
  many('ZADD', P .. 'd', deadlines)
end

-- They are not lent after all: a key of another kind was in the way of one of those commands.
local function drop_loans(P, order)
  for _, loan in ipairs(order) do
    redis.pcall('HDEL', P .. 'loan', loan.fence)
    redis.pcall('HDEL', P .. 'n', loan.fence)
    for start = 1, loan.size, PIECE do
      redis.pcall('HDEL', P .. 'l', unpack(loan.ids, start, math.min(start + PIECE - 1, loan.size)))
    end
  end
end

-- When to ask the last queue again.
local next_in = 0

-- What the lists of queues are told of all of them at once: which have nothing left, when the first lease of each ends, and
-- which are to be known.
local emptied, lent_until, names = {}, {}, {}

-- This queue has only messages that fall due later; `due`: when, false: never, nil: that is not known.
local function note_empty(P, now, due)
  if due == false then
    emptied[#emptied + 1] = P
    next_in = -1
  else
    next_in = list_empty(P, now, due) or -1
  end
end

local function tell_lists()
  if IS_APART then return end
  -- First something that frees memory: Redis refuses a script whose first write could need more than there is.
  if #emptied > 0 then redis.pcall('ZREM', BUSY, unpack(emptied)) end
  -- The next sweep after that moment looks there.
  if #lent_until > 0 then redis.pcall('ZADD', G .. 'lent', 'LT', unpack(lent_until)) end
  if #names == 0 then return end
  -- Only what is known is swept. A sender says it, but seldom, and the server may have lost everything since. What is known is
  -- not written: a full server must go on lending.
  local are_there = redis.pcall('SMISMEMBER', G .. 'queues', unpack(names))
  for n, name in ipairs(names) do
    if are_there[n] ~= 1 then redis.pcall('SADD', G .. 'queues', name) end
  end
end

local function lend(P, number, want, lent, reply)
  local is_known = lent >= 0
  if not is_known then lent = -1 - lent end
  local meta = call('HMGET', P .. 'meta', 't', 'o', 'f', 'p', 'n', 'c5')
  local levels, now = meta[4] or '', time_of(P, false, meta)
  if find(levels, '%D') then levels = levels:gsub('%D', '') end
  cursors, unwritten, highest_place = {['5'] = meta[6]}, {}, stored(meta[5])
  if levels == '' then
    note_empty(P, now)
    return 0
  end
  undo, was_at, has_passed, said = {}, {}, false, {}
  local is_done, ids, raws, records, more = pcall(pick, P, now, levels, want, lent)
  if not is_done then
    put_back(P)
    error(ids, 0)
  end
  local count = #ids
  next_in = 0
  if count == 0 then
    many('HSET', P .. 'meta', unwritten)
    if has_passed then list_last(P) else note_empty(P, now, next_due or false) end
    return 0
  end
  if GIVEN == '' and raw_time() < (stored(meta[1]) or 0) then time_of(P, true, meta) end
  local fence = math.max((stored(meta[3]) or 0) + 1, now)
  local loans, order, marks, deadlines, size, first_end = {}, {}, {}, {}, 0, math.huge
  for n = 1, count do
    local id, raw, record, counters, seconds = ids[n], raws[n], records[n], '', SECONDS
    if more[n] then
      counters, seconds, raw = details(P, id, record, raw, more[n])
    elseif by_task then
      seconds = own_seconds(record)
    end
    local loan = loans[seconds]
    if not loan then
      loan = {fence = text_of(fence), seconds = text_of(seconds), deadline = text_of(now + seconds), size = 0, ids = {}, raws = {}, counters = {}}
      loans[seconds] = loan
      order[#order + 1] = loan
      fence, first_end = fence + 1, math.min(first_end, seconds)
    end
    local own = loan.size + 1
    loan.size = own
    loan.ids[own], loan.raws[own] = id, raw
    if counters ~= '' then
      local told = loan.counters
      told[#told + 1], told[#told + 2] = own - 1, counters
    end
    marks[size + 1], marks[size + 2] = id, loan.fence
    deadlines[size + 1], deadlines[size + 2] = loan.deadline, id
    size = size + 2
  end
  local is_noted, trouble = pcall(note_loans, P, order, marks, deadlines)
  if not is_noted then
    drop_loans(P, order)
    put_back(P)
    error(trouble, 0)
  end
  for _, loan in ipairs(order) do
    reply[#reply + 1] = {number, loan.fence, loan.seconds, loan.ids, loan.raws, loan.counters}
  end
  lent_until[#lent_until + 1], lent_until[#lent_until + 2] = text_of(listing_time() + first_end), P
  if not is_known then names[#names + 1] = name_of(P) end
  local fields, raw = unwritten, GIVEN == '' and raw_time()
  fields[#fields + 1], fields[#fields + 2] = 'f', text_of(fence - 1)
  if raw and raw - (stored(meta[1]) or 0) > 10000 then fields[#fields + 1], fields[#fields + 2] = 't', text_of(raw) end
  many('HSET', P .. 'meta', fields)
  if count < want and not is_full and not has_passed then
    note_empty(P, now, next_due or false)
  elseif BY_LIST then
    list_last(P)
  end
  return count
end

-- When something can be leased from all these queues together, if nothing can now: as next_in of one.
local quiet_for = -1
local function hear_of_next()
  if next_in >= 0 and quiet_for ~= 0 then
    quiet_for = (next_in == 0 or quiet_for < 0) and next_in or math.min(quiet_for, next_in)
  end
end

if is_banned(OWNER) then return -1 end
local left, reply = tonumber(ARGV[6]), {}
for i = 1, #KEYS - 1 do
  next_in = 0
  if left > 0 then
    local is_done, count = pcall(lend, KEYS[i], i - 1, left, tonumber(ARGV[13 + i]), reply)
    local text = not is_done and (type(count) == 'table' and count.err or tostring(count))
    if text and BY_LIST and find(text, 'WRONGTYPE', 1, true) then
      if not IS_APART then redis.pcall('ZADD', BUSY, num(listing_time() + PATIENCE), KEYS[i]) end
      reply[#reply + 1] = {-2, i - 1, text}
      next_in = PATIENCE
    else
      -- Return the messages lent so far; this queue's error is returned when it is the first one.
      if text and #reply == 0 then
        tell_lists()
        error(count, 0)
      end
      left = is_done and not is_full and left - count or 0
    end
  end
  hear_of_next()
end
tell_lists()
if IS_APART then
  reply[#reply + 1] = {-3, next_in}
elseif BY_LIST then
  local is_told, page = pcall(in_turn, 0, ARGV[13])
  if is_told then reply[#reply + 1] = {-4, page} end
elseif quiet_for ~= 0 then
  reply[#reply + 1] = {-6, quiet_for}
end
return reply
