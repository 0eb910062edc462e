-- Messages come in, once each. Used by send, and by ack for hand-offs.
--
-- An entry is: kind (the priority; with an x before it, extras follow), id, the rest of its record, envelope, [extras].
-- Answers: '' stored; '=' its id is known; '=<id>' that waiting message has the same `unique`; '!<id>' its key is that message's;
-- '+' so many wait.

-- Once there is a stream, it has a group, so that other tools can see how far lending is.
local function use_level(P, level, levels)
  if find(levels, level, 1, true) then return levels end
  local made = redis.pcall('XGROUP', 'CREATE', P .. 's' .. level, 'tenure', '0', 'MKSTREAM')
  -- It is there already if the list of priorities was deleted by hand.
  if made.err and not find(made.err, 'BUSYGROUP', 1, true) then error(made.err, 0) end
  -- So the first lease need not ask the stream how far it was read, which takes longer.
  if not made.err then call('HSETNX', P .. 'meta', 'c' .. level, '0-0') end
  local all = {}
  for one in (levels .. level):gmatch('.') do all[#all + 1] = one end
  table.sort(all, function(a, b) return a > b end)
  levels = table.concat(all)
  call('HSET', P .. 'meta', 'p', levels)
  return levels
end

local high, high_text

-- As `num`, for places that follow each other: it is slow to print a number of that size.
local function place_text(place)
  local millions = math.floor(place / 1000000)
  if millions ~= high then high, high_text = millions, num(millions) end
  return high_text .. fmt('%06d', place - millions * 1000000)
end

-- Its entry's number is its place. A higher number may have been put there by hand: then it goes the other way, until
-- that entry is gone.
local function put(P, level, place, id, raw)
  for try = 1, 2 do
    local added = redis.pcall('XADD', P .. 's' .. level, place .. '-0', 'i', id, 'e', raw)
    if type(added) ~= 'table' or not added.err then return true end
    if find(added.err, 'WRONGTYPE', 1, true) then error(added.err, 0) end
    if try == 2 or not is_too_low(added.err) or not go_on_from(P, level, tonumber(place) - 1) then break end
  end
  call('ZCARD', P .. 'b' .. level)
  call('HSET', P .. 'x:' .. id, 'e', raw)
  call('ZADD', P .. 'b' .. level, place, id)
  return false
end

local function stands_in(P, x)
  for _, id in ipairs(call('ZRANGE', P .. 'u:' .. x.u, 0, -1)) do
    local record = call('HGET', P .. 'm', id)
    local sent = record and tonumber(match(record, '|([^|]*)|'))
    local ends = redis.pcall('HGET', P .. 'x:' .. id, 'ex')
    local until_ = type(ends) == 'string' and tonumber(ends) or math.huge
    local waits = sent and call('HEXISTS', P .. 'l', id) == 0 and not call('ZSCORE', P .. 'dead', id)
    if waits and (not x.w or sent >= x.w) and until_ >= (x.ex or math.huge) then return id end
  end
end

-- Refused, and no caller gets the answer: it goes to the dead letters, where people look.
local function bury_new(P, level, place, id, tail, raw, reason)
  local record = 'x' .. level .. place .. tail
  call('HSET', P .. 'm', id, record)
  call('HSET', P .. 'x:' .. id, 'e', raw, 'r', reason, 'f', WALL)
  call('RPUSH', P .. 'h:' .. id, '{"at":' .. WALL .. ',"how":"dead","reason":' .. reason .. '}')
  call('ZADD', P .. 'dead', num(raw_time()), id)
  announce_once(P, id, record, 'D', reason)
end

-- In how many microseconds the first of those that were stored can be leased.
local soonest

local function store_special(P, now, place, a, lenient, is_full)
  local level, id, tail, raw, x = sub(ARGV[a], 2), ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], cjson.decode(ARGV[a + 4])
  if x.r then
    bury_new(P, level, place, id, tail, raw, x.r)
    return ''
  end
  if x.k then
    local holder = call('HMGET', P .. 'k:' .. x.k, 'id', 'g')
    if holder[1] and holder[2] == x.g then return '=' .. holder[1] end
    if holder[1] and not lenient then return '!' .. holder[1] end
    if holder[1] then
      local text = 'its key was sent before with another payload, by message ' .. holder[1]
      bury_new(P, level, place, id, tail, raw, cjson.encode({code = 'key_conflict', text = text}))
      return ''
    end
  end
  if x.u then
    local other = stands_in(P, x)
    if other then return '=' .. other end
  end
  if is_full then return '+' end
  local fields = {}
  for _, name in ipairs({'k', 'g', 'u', 's', 'ma', 'ex'}) do
    if x[name] then
      fields[#fields + 1] = name
      fields[#fields + 1] = type(x[name]) == 'number' and fmt('%.17g', x[name]) or x[name]
    end
  end
  many('HSET', P .. 'x:' .. id, fields)
  call('HSET', P .. 'm', id, 'x' .. level .. place .. tail)
  if x.k then call('HSET', P .. 'k:' .. x.k, 'id', id, 'g', x.g, 's', 'sent') end
  if x.u then call('ZADD', P .. 'u:' .. x.u, place, id) end
  if x.d then
    call('HSET', P .. 'x:' .. id, 'e', raw)
    call('ZADD', P .. 'z', num(now + x.d), id)
    soonest = math.min(soonest or LONGEST, x.d)
  else
    soonest = 0
    put(P, level, place, id, raw)
  end
  return ''
end

-- Where each of the `count` entries that begin at ARGV[at] stands, their ids, and what comes after them. They are added to those
-- in `places` and `ids`, if these are given.
local function entries_at(at, count, places, ids)
  places, ids = places or {}, ids or {}
  for n = #ids + 1, #ids + count do
    places[n], ids[n] = at, ARGV[at + 1]
    at = at + (#ARGV[at] == 1 and 4 or 5)
  end
  return places, ids, at
end

-- A key of another kind where one of ours should be must be found before anything is changed: reading it is an error.
-- A single plain entry need not be looked after, because putting it into its stream is the first change.
local function check_entries(P, places, ids, alone)
  local levels, specials = {}, false
  for n, at in ipairs(places) do
    local kind = ARGV[at]
    levels[sub(kind, -1)] = true
    if #kind > 1 then
      specials = true
      local x = cjson.decode(ARGV[at + 4])
      call('HLEN', P .. 'x:' .. ids[n])
      call('LLEN', P .. 'h:' .. ids[n])
      if x.k then call('HLEN', P .. 'k:' .. x.k) end
      if x.u then call('ZCARD', P .. 'u:' .. x.u) end
      -- It is put aside if it is refused, or if its key is another message's.
      if (x.r or x.k) and asks(ARGV[at + 2]) then check_announcements(P) end
    end
  end
  if specials or not alone then
    for level in pairs(levels) do
      call('XLEN', P .. 's' .. level)
      call('ZCARD', P .. 'b' .. level)
    end
  end
  if specials then
    call('HLEN', P .. 'l')
    call('ZCARD', P .. 'z')
    call('ZCARD', P .. 'dead')
  end
end

-- Store entries; where each stands in ARGV, and their ids, are as from `entries_at`. Returns the answers, and whether all are ''.
-- `most`: so many may wait, ready or delayed; nil: any number.
local function store(P, places, ids, lenient, most)
  local count = #ids
  local meta = call('HMGET', P .. 'meta', 't', 'o', 'n', 'p', 'bk', 'bn', 'bw')
  local now = time_of(P, true, meta)
  check_entries(P, places, ids, count == 1)
  local room = most and most - call('HLEN', P .. 'm') + call('HLEN', P .. 'l') + call('ZCARD', P .. 'dead')
  local known, old = fetch(P .. 'm', ids), finished(P, now, ids, {meta[5], meta[6], meta[7]})
  -- Numbers in the size of microseconds: entries that people add by hand are numbered by milliseconds, and so come before.
  local place, levels = math.max(stored(meta[3]) or 0, raw_time()), meta[4] or ''
  local after = num(place + count)
  -- A new queue: if another server takes over before the first sweep, that must be noticed too.
  if not meta[4] then
    call('HSET', P .. 'meta', 'run', run_id())
    make_known(P)
    -- It may have been forgotten, to expire.
    call('PERSIST', P .. 'meta')
  end
  soonest = nil
  local new, rows, size, answers, all_new, used = {}, {}, 0, {}, true, nil
  for n = 1, count do
    local a, id = places[n], ids[n]
    local answer = '='
    if not (known[n] or new[id] or (old and old[id])) then
      local kind, is_full = ARGV[a], room and room <= 0
      place = place + 1
      if kind ~= used and not is_full then
        levels = use_level(P, sub(kind, -1), levels)
        used = kind
      end
      local number = place_text(place)
      if #kind > 1 then
        answer = store_special(P, now, number, a, lenient, is_full)
      elseif is_full then
        answer = '+'
      else
        local record = kind .. number .. ARGV[a + 2]
        local is_there = put(P, kind, number, id, ARGV[a + 3])
        rows[size + 1], rows[size + 2] = id, is_there and record or 'x' .. record
        size, soonest = size + 2, 0
        answer = ''
      end
      if answer == '' then
        new[id] = true
        room = room and room - 1
      end
    end
    answers[n] = answer
    all_new = all_new and answer == ''
  end
  call('HSET', P .. 'meta', 'n', after)
  many('HSET', P .. 'm', rows)
  if soonest then
    list_due(P, soonest)
    call('PUBLISH', P .. 'wake', '')
  end
  return answers, all_new
end
