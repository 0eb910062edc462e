-- Messages change their state. The common steps of everything but the usual lease and the usual ack.

-- From here on there is more to tell of it than its record says.
local function special(P, id, record, deliveries)
  if sub(record, 1, 1) == 'x' then return record end
  record = 'x' .. record
  call('HSET', P .. 'm', id, record)
  if deliveries > 0 then call('HSET', P .. 'x:' .. id, 'd', deliveries) end
  return record
end

-- A number in a hash goes up. One that people have made unreadable starts over.
local function raise(key, field, by)
  local n = redis.pcall('HINCRBY', key, field, by)
  if type(n) == 'number' then return n end
  call('HSET', key, field, by)
  return tonumber(by)
end

-- Read a number from a hash; 0 if it is none.
local function count_of(text)
  local n = tonumber(text or '')
  return n and n > 0 and n < 1e15 and num(math.floor(n)) or '0'
end

-- Microseconds until a moment, which is a score; none lies further ahead, or behind, than can be told. nil: there is none.
local function time_left(score, now)
  local moment = tonumber(score or '')
  return moment and num(math.max(-LONGEST, math.min(LONGEST, moment - now)))
end

-- A name that everybody can read.
local function is_plain(id) return #id > 0 and #id <= 200 and not find(id, '[^\33-\126]') end

-- Whether an id is text in UTF-8, as all of ours are. No client could read it otherwise.
local UTF8 = {
  '[\194-\223][\128-\191]', '\224[\160-\191][\128-\191]', '[\225-\236\238\239][\128-\191][\128-\191]',
  '\237[\128-\159][\128-\191]', '\240[\144-\191][\128-\191][\128-\191]',
  '[\241-\243][\128-\191][\128-\191][\128-\191]', '\244[\128-\143][\128-\191][\128-\191]',
}
local function is_text(id)
  if not find(id, '[\128-\255]') then return true end
  for _, pattern in ipairs(UTF8) do id = id:gsub(pattern, ' ') end
  return not find(id, '[\128-\255]')
end

-- So many fewer are held under a fence; they are in `l` no more. With the last one the loan ends. What cannot be a count
-- is counted again, so that no holder loses a lease for it. `held`: how many there were, if the caller has read it already.
local function give_up(P, fence, count, held)
  local left = 0
  if tonumber(held or '') ~= count then
    left = redis.pcall('HINCRBY', P .. 'n', fence, -count)
    if type(left) ~= 'number' or left < 0 then
      left = 0
      for _, other in ipairs(call('HVALS', P .. 'l')) do
        if other == fence then left = left + 1 end
      end
      call('HSET', P .. 'n', fence, left)
    end
  end
  if left == 0 then
    call('HDEL', P .. 'n', fence)
    call('HDEL', P .. 'loan', fence)
  end
end

local function unlend(P, id, fence)
  call('HDEL', P .. 'l', id)
  call('ZREM', P .. 'd', id)
  give_up(P, fence, 1)
end

-- A key of another kind where one of ours should be must be found before anything is changed: reading it is an error.
local function check_queue(P, now)
  call('HLEN', P .. 'meta')
  call('HLEN', P .. 'm')
  call('HLEN', P .. 'l')
  call('HLEN', P .. 'n')
  call('HLEN', P .. 'loan')
  call('ZCARD', P .. 'd')
  call('ZCARD', P .. 'z')
  call('ZCARD', P .. 'dead')
  if now then call('HLEN', P .. 'done:' .. bucket_at(P, now)) end
end

-- Likewise for what belongs to one message. Returns its key and its unique, if it has them.
local function check_message(P, id, level)
  local x = call('HMGET', P .. 'x:' .. id, 'k', 'u')
  call('LLEN', P .. 'h:' .. id)
  call('XLEN', P .. 's' .. level)
  call('ZCARD', P .. 'b' .. level)
  if x[1] then call('HLEN', P .. 'k:' .. x[1]) end
  if x[2] then call('ZCARD', P .. 'u:' .. x[2]) end
  return x
end

-- At the end of a loan whose holder never joined the roster. Workers' loans say nothing, as those of older versions.
local NO_PRESENCE = '\31no presence'

-- Seconds, owner and request of a loan, and whether its holder joined the roster before it leased.
local function read_loan(text)
  if not text then return nil end
  local seconds, length, rest = match(text, '^(%d+)|(%d+)|(.*)$')
  if not seconds or not stored(seconds) or not stored(length, 0, #rest) then return nil end
  local request, has_presence = sub(rest, length + 1), sub(rest, -#NO_PRESENCE) ~= NO_PRESENCE
  if not has_presence then request = sub(request, 1, -#NO_PRESENCE - 1) end
  return tonumber(seconds), sub(rest, 1, length), request, has_presence
end

local function owner_of(P, fence)
  local _, owner = read_loan(call('HGET', P .. 'loan', fence))
  return owner
end

local function ending(how, owner, reason)
  local text = '{"at":' .. WALL .. ',"how":"' .. how .. '"'
  if owner then text = text .. ',"owner":' .. cjson.encode(owner) end
  if reason then text = text .. ',"reason":' .. reason end
  return text .. '}'
end

local function remember(P, id, text)
  call('RPUSH', P .. 'h:' .. id, text)
  call('LTRIM', P .. 'h:' .. id, -HISTORY, -1)
end

local function seconds_of(micros) return math.max(1, math.ceil(micros / 1000000)) end

-- What becomes of the claim on a message: 'release' (others may run it), 'free' (the key may be sent again), 'finish'.
local function end_claim(P, id, scope, how, result)
  if not scope then return end
  local key = P .. 'k:' .. scope
  local claim = call('HMGET', key, 'id', 's')
  if claim[1] ~= id or claim[2] == 'done' then return end
  if how == 'free' then
    call('DEL', key)
  elseif how == 'finish' then
    call('HSET', key, 's', 'done', 'r', result)
    call('EXPIRE', key, seconds_of(KEEP))
  elseif claim[2] == 'running' then
    call('HSET', key, 's', 'sent')
  end
end

-- Where it waits: for its time, or for the next lease.
local function let_wait(P, id, level, place, due, unique)
  if due then
    call('ZADD', P .. 'z', num(due), id)
  else
    call('ZADD', P .. 'b' .. level, place, id)
  end
  if unique then call('ZADD', P .. 'u:' .. unique, place, id) end
end

-- The envelope, wherever it is.
local function raw_of(P, id, level, place)
  local raw = call('HGET', P .. 'x:' .. id, 'e')
  if raw then return raw end
  local entry = call('XRANGE', P .. 's' .. level, place .. '-0', place .. '-0')[1]
  local fields = entry and entry[2]
  if fields and fields[1] == 'i' and fields[3] == 'e' then return fields[4] end
  return fields and cjson.encode(fields) or ''
end

-- Of a message whose record cannot be read: its entry, among the first in each stream.
local function find_entry(P, id, levels)
  for level in levels:gmatch('%d') do
    for _, entry in ipairs(call('XRANGE', P .. 's' .. level, '-', '+', 'COUNT', PIECE)) do
      local place, rest = match(entry[1], '^(%d+)-(%d+)$')
      local fields = entry[2]
      if rest == '0' and stored(place) and fields[1] == 'i' and fields[2] == id then return level, place, fields[4] end
    end
  end
end

-- The record of a message, made again from its envelope, where it was overwritten by hand. nil: there is none, or the id is no
-- name of ours.
local function rebuild(P, id)
  if not is_plain(id) then return nil end
  local raw = call('HGET', P .. 'x:' .. id, 'e')
  local level, place
  if not raw then
    level, place, raw = find_entry(P, id, call('HGET', P .. 'meta', 'p') or '')
    if not level then return nil end
  end
  local is_read, envelope = pcall(cjson.decode, raw)
  envelope = is_read and type(envelope) == 'table' and envelope or {}
  if not level then
    -- It lies beside its stream: its place is where it is put now.
    level, place = num(stored(envelope.priority, 0, 9) or 5), num(raw_time())
  end
  local task = type(envelope.task) == 'string' and envelope.task or ''
  local record = 'x' .. level .. place .. '|' .. fmt('%.17g', stored(envelope.sent_at) or 0) .. '|' .. task
  if type(envelope.announce) == 'table' then
    local request = {envelope.announce, envelope.client or cjson.null, envelope.correlation_id or cjson.null}
    record = record .. ASKS .. num(stored(envelope.generation) or 0) .. '|' .. cjson.encode(request)
  end
  call('HSET', P .. 'm', id, record)
  return record
end

-- The record, or the one that could be made again; nil if neither can be read.
local function readable(P, id, record)
  if not record or read(record) then return record or nil end
  return rebuild(P, id)
end

-- To the dead letters, whole. Its lease, if it had one, has ended already.
local function bury(P, id, record, reason)
  local _, level, place = read(record)
  local raw = raw_of(P, id, level, place)
  call('HSET', P .. 'x:' .. id, 'e', raw, 'r', reason, 'f', WALL)
  call('XDEL', P .. 's' .. level, place .. '-0')
  call('ZADD', P .. 'dead', num(raw_time()), id)
  end_claim(P, id, call('HGET', P .. 'x:' .. id, 'k'), 'free')
  announce_once(P, id, record, 'D', reason)
end

-- Somebody remembers much longer than those before: so many small buckets would be too many to look into. Those that
-- there are become the newest ones of the new width, and so are kept at least as long as they would have been.
local function widen(P, now, oldest, newest)
  widths[P] = WIDTH
  local i = bucket_at(P, now)
  for old = newest, math.max(oldest, newest - 100), -1 do
    if call('EXISTS', P .. 'done:' .. old) == 1 then
      call('RENAME', P .. 'done:' .. old, P .. 'done:' .. i)
      for _, list in ipairs({'ended:C:', 'ended:X:'}) do redis.pcall('RENAME', P .. list .. old, P .. list .. i) end
      i = i - 1
    end
  end
  call('HSET', P .. 'meta', 'bk', i + 1, 'bn', '')
end

-- `ids` of `rows` ended together, as completed (C) or cancelled (X). The list of them is for people who look, and dropped
-- with the bucket; if another value was put there by hand, it is done without. `range`: the fields bk, bn and bw of meta, for
-- a caller that has read them already.
local function keep_finished(P, now, rows, state, ids, range)
  local meta = range or call('HMGET', P .. 'meta', 'bk', 'bn', 'bw')
  local width = width_of(P, meta[3])
  local current = bucket_at(P, now)
  local oldest, newest = stored(meta[1], 0, current), stored(meta[2], 0, current + 100)
  if WIDTH >= 2 * width and oldest and newest then
    widen(P, now, oldest, newest)
    meta, newest = call('HMGET', P .. 'meta', 'bk'), nil
  end
  local i = bucket_at(P, now)
  local key = P .. 'done:' .. i
  many('HSET', key, rows)
  if newest ~= i then
    call('HSET', P .. 'meta', 'bn', i, 'bw', num(width_of(P)), 'bk', oldest and meta[1] or i)
    call('EXPIRE', key, 2 * seconds_of(KEEP))
  end
  local list = P .. 'ended:' .. state .. ':' .. i
  if redis.pcall('RPUSH', list, table.concat(ids, '\n')) == 1 then call('EXPIRE', list, 2 * seconds_of(KEEP)) end
end

-- Details of a special message that is finished are kept as long as its record. `also`: one more field that goes.
local function outlive(P, id, also)
  call('HDEL', P .. 'x:' .. id, 'e', 'pg', 'cp', 'u', 'f', also or 'f')
  call('EXPIRE', P .. 'x:' .. id, seconds_of(KEEP))
  call('EXPIRE', P .. 'h:' .. id, seconds_of(KEEP))
end

-- Something that is none of ours: it lies with the dead letters, with its raw bytes.
local function set_aside(P, id, level, place, raw, why)
  local reason, record = cjson.encode({code = 'malformed_entry', text = why}), 'x' .. level .. place .. '|0|'
  local before = call('HGET', P .. 'm', id) or ''
  local asked = find(before, ASKS, 1, true)
  if asked then record = record .. sub(before, asked) end
  announce_once(P, id, record, 'D', reason)
  call('HSET', P .. 'm', id, record)
  call('HSET', P .. 'x:' .. id, 'e', raw, 'r', reason, 'f', WALL)
  call('RPUSH', P .. 'h:' .. id, ending('dead', nil, reason))
  call('ZADD', P .. 'dead', num(raw_time()), id)
end

-- A message whose record cannot be read, nor made again: what stands there instead of the record is kept. It is lent no more.
-- Returns the name under which it lies there.
local function set_aside_unreadable(P, id, record, why)
  local name = is_plain(id) and id or 'malformed-m-' .. redis.sha1hex(id)
  if name ~= id then call('HDEL', P .. 'm', id) end
  call('ZREM', P .. 'z', id)
  set_aside(P, name, '0', num(raw_time()), record, why or 'its record cannot be read')
  return name
end
