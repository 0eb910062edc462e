-- Messages in one state, in its order, for people who look. Changes nothing. Several queues, one after the other, as far as one
-- script should go. ARGV: state, '1' for backwards, most rows, '1' for envelopes, the task that is wanted ('': any), the mark in the
-- first queue ('': its start).
-- Returns for each queue that was looked at: 1 if there is nothing more, the mark to go on behind, the rows, and the record of the last
-- one that was read ('': it is a row). Each row has mark, id, record, time left, fence, owner, envelope, and deliveries, attempts, crashes,
-- losses, reason, end ({}: not special); of a plain one that was never lent only mark, id, record, envelope. A number instead of a row:
-- so many were read there that are not of the task. Of what is dead every row is returned, with the envelopes of that task.
local STATE, BACKWARDS, ROWS, WITH_RAW = ARGV[4], ARGV[5] == '1', tonumber(ARGV[6]), ARGV[7] == '1'
local OF_TASK, MARK = '|' .. ARGV[8], ARGV[9]
-- So many bytes are read, and the row that goes beyond them.
local BYTES, bytes, seen_rows = 2097152, 0, 0

local function is_enough() return seen_rows >= ROWS or bytes >= BYTES end

local function more_of(P, id) return call('HMGET', P .. 'x:' .. id, 'd', 'a', 'c', 'l', 'r', 'f') end

-- A list of replies in which nothing is missing: a missing one would end it.
local function whole(values, count)
  local all = {}
  for n = 1, count do all[n] = values[n] or '' end
  return all
end

local OF_ANY, TASK_AT = OF_TASK == '|', -#OF_TASK

-- Envelopes are large, and some take a command to read: a search among many messages leaves those out that cannot match.
local function wants_raw(record)
  return WITH_RAW and (OF_ANY or sub(record, TASK_AT) == OF_TASK)
end

-- The rows of a queue. Those of other tasks cost more to answer than to read, so they are counted. `last`: the record of one that is
-- behind the last row.
local function rows_of_queue()
  return {passed = 0, last = ''}
end

local function is_passed(rows, record)
  if OF_ANY or sub(record, TASK_AT) == OF_TASK then return false end
  rows.passed, rows.last = rows.passed + 1, record
  return true
end

local function add_passed(rows)
  if rows.passed > 0 then rows[#rows + 1], rows.passed = rows.passed, 0 end
end

local function add_row(rows, row)
  add_passed(rows)
  rows[#rows + 1], rows.last = row, ''
end

local PLAIN = {}

-- The row of a message whose record is in m. `raw`: its envelope, if that is known already.
local function row_of(P, mark, id, record, raw, left, fence, owner)
  -- Nearly all are plain, and come from a stream: their rows are short, and nothing more is read for them.
  if raw then return {mark, id, record, wants_raw(record) and raw or ''} end
  local special, level, place = read(record)
  if not wants_raw(record) then
    raw = ''
  elseif not raw then
    raw = level and raw_of(P, id, level, place) or call('HGET', P .. 'x:' .. id, 'e') or record
    bytes = bytes + #raw
  end
  local x = special ~= '' and whole(more_of(P, id), 6) or PLAIN
  return {mark, id, record, left or '', fence or '', owner or '', raw, x}
end

-- --- what lies in a sorted set: delayed, leased, dead ------------------------------------------------------------------

-- The rank behind a mark "<score>|<id>", also where that id has moved on: among those of its score they lie by id.
local function rank_behind(key, score, id)
  if call('ZSCORE', key, id) == score then return call(BACKWARDS and 'ZREVRANK' or 'ZRANK', key, id) + 1 end
  local low = call('ZCOUNT', key, '-inf', '(' .. score)
  local high = low + call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if call('ZRANGE', key, middle, middle)[1] < id then low = middle + 1 else high = middle end
  end
  return BACKWARDS and call('ZCARD', key) - low or low
end

-- A piece of a sorted set behind a mark: ids and scores in turns, and whether that was all.
local function piece_of(key, mark, count)
  local score, id = match(mark, '^([^|]*)|(.*)$')
  local rank = score and rank_behind(key, score, id) or 0
  local pairs_ = call(BACKWARDS and 'ZREVRANGE' or 'ZRANGE', key, rank, rank + count - 1, 'WITHSCORES')
  return pairs_, #pairs_ < 2 * count
end

local SETS, PIECE_ROWS = {delayed = 'z', leased = 'd', dead = 'dead'}, 100

local function in_set(P, now, mark)
  local key, rows, loans = P .. SETS[STATE], rows_of_queue(), {}
  while true do
    local pairs_, is_end = piece_of(key, mark, math.min(PIECE_ROWS, ROWS - seen_rows))
    local ids = {}
    for i = 1, #pairs_, 2 do ids[#ids + 1] = pairs_[i] end
    local records, fences = fetch(P .. 'm', ids), fetch(P .. 'l', ids)
    for n, id in ipairs(ids) do
      if is_enough() then
        is_end = false
        break
      end
      local score, record, fence = pairs_[2 * n], records[n], fences[n]
      mark, seen_rows = score .. '|' .. id, seen_rows + 1
      local is_wanted = record and (STATE == 'dead' or not is_passed(rows, record))
      if is_wanted and STATE == 'leased' and fence then
        if not loans[fence] then loans[fence] = owner_of(P, fence) or '' end
        add_row(rows, row_of(P, mark, id, record, nil, time_left(score, now), fence, loans[fence]))
      elseif is_wanted and STATE == 'delayed' and not fence then
        add_row(rows, row_of(P, mark, id, record, nil, time_left(score, now)))
      elseif is_wanted and STATE == 'dead' and not fence and not call('ZSCORE', P .. 'z', id) then
        add_row(rows, row_of(P, mark, id, record))
      end
    end
    if is_end or is_enough() then return is_end, mark, rows end
  end
end

-- --- what is ready: of each priority what came back, and what was never lent, merged by place --------------------------

local function came_back(P, level, mark)
  local key, skip = P .. 'b' .. level, 0
  return function()
    local pairs_
    if BACKWARDS then
      pairs_ = call('ZREVRANGEBYSCORE', key, mark and '(' .. mark or '+inf', '-inf', 'WITHSCORES', 'LIMIT', skip, PIECE_ROWS)
    else
      pairs_ = call('ZRANGEBYSCORE', key, mark and '(' .. mark or '-inf', '+inf', 'WITHSCORES', 'LIMIT', skip, PIECE_ROWS)
    end
    skip = skip + #pairs_ / 2
    local found = {}
    for i = 1, #pairs_, 2 do found[#found + 1] = {tonumber(pairs_[i + 1]), pairs_[i + 1], pairs_[i]} end
    return found
  end
end

-- How many entries to read next, so that their envelopes fit, whose size is not known before; and no more than this source's share of
-- the rows that are wanted yet.
local function next_count(count, read, size, sources)
  if read == 0 then return 1 end
  local share = math.ceil((ROWS - seen_rows) / #sources)
  return math.max(1, math.min(4 * count, 256, math.max(16, share), math.floor((BYTES - bytes) / (size / read + 1))))
end

local function never_lent(P, level, mark, sources)
  local key, count, entries_read, size = P .. 's' .. level, 1, 0, 0
  local cursor = cursor_of(P, level)
  local low, high = cursor, '+'
  local from = tonumber(mark)
  if from and not BACKWARDS and from > tonumber(match(cursor, '^%d+')) then low = num(from) .. '-0' end
  if from and BACKWARDS then high = '(' .. num(math.max(from, 0)) .. '-0' end
  -- Behind the highest number there is nothing, nor behind one that no stream has.
  local is_over = low == HIGHEST .. '-' .. HIGHEST or (from and from >= MOST_STORED and not BACKWARDS) or high == '(0-0'
  if from and from >= MOST_STORED then high = '+' end
  return function()
    if is_over then return {} end
    count = next_count(count, entries_read, size, sources)
    local entries
    if BACKWARDS then entries = call('XREVRANGE', key, high, '(' .. low, 'COUNT', count)
    else entries = call('XRANGE', key, '(' .. low, high, 'COUNT', count) end
    is_over = #entries < count
    local found = {}
    local envelopes = 0
    for n = 1, #entries do
      local number, fields = entries[n][1], entries[n][2]
      local place, raw = sub(number, 1, -3), fields[4] or ''
      envelopes = envelopes + #raw
      local is_ours = #fields == 4 and fields[1] == 'i' and fields[3] == 'e' and sub(number, -2) == '-0'
      if not is_ours then place = match(number, '^%d+') end
      found[n] = {tonumber(place), place, is_ours and fields[2] or '', raw, level}
    end
    entries_read, size, bytes = entries_read + #entries, size + envelopes, bytes + envelopes
    local last = entries[#entries]
    if last and BACKWARDS then high = '(' .. last[1] elseif last then low = last[1] end
    if BACKWARDS and high == '(0-0' or low == HIGHEST .. '-' .. HIGHEST then is_over = true end
    return found
  end
end

-- The first of what a source has next; nil: there is nothing.
local function refilled(source)
  source.rows, source.at = source.refill(), 1
  return source.rows[1]
end

-- The next one of all, which is taken off its source. Sources that are at their end are dropped.
local function nearest(sources)
  local chosen, best
  for n = #sources, 1, -1 do
    local source = sources[n]
    local one = source.rows[source.at] or refilled(source)
    if not one then
      table.remove(sources, n)
    elseif not best or (BACKWARDS and one[1] > best[1]) or (not BACKWARDS and one[1] < best[1]) then
      chosen, best = source, one
    end
  end
  if chosen then chosen.at = chosen.at + 1 end
  return best
end

-- An entry must be the one that its record tells of.
local function is_entry(record, level, place)
  local start = string.byte(record) == 120 and 2 or 1
  return sub(record, start, start + #place + 1) == level .. place .. '|'
end

-- Those of `found` that are ready indeed, as rows. `others`: in which other states the queue has something.
local function ready_rows(P, found, rows, told, others)
  local ids = {}
  for n, one in ipairs(found) do ids[n] = one[3] end
  if #ids == 0 then return end
  local records, fences = fetch(P .. 'm', ids), others.leased and fetch(P .. 'l', ids) or {}
  local due = others.delayed and call('ZMSCORE', P .. 'z', unpack(ids)) or {}
  local dead = others.dead and call('ZMSCORE', P .. 'dead', unpack(ids)) or {}
  for n, one in ipairs(found) do
    local id, record = ids[n], records[n]
    -- Of another task it is passed over whether it is ready or not.
    if record and not is_passed(rows, record) then
      local stands = not one[5] or is_entry(record, one[5], one[2])
      if stands and not (told[id] or fences[n] or due[n] or dead[n]) then
        told[id] = true
        add_row(rows, row_of(P, one[2], id, record, sub(record, 1, 1) ~= 'x' and one[4] or nil))
      end
    end
  end
end

local function ready(P, _, mark)
  local sources, rows, told = {}, rows_of_queue(), {}
  local from = mark ~= '' and mark or nil
  local others = {
    leased = call('HLEN', P .. 'l') > 0, delayed = call('ZCARD', P .. 'z') > 0, dead = call('ZCARD', P .. 'dead') > 0,
  }
  for level in (call('HGET', P .. 'meta', 'p') or ''):gmatch('%d') do
    for _, make in ipairs({came_back, never_lent}) do
      sources[#sources + 1] = {rows = {}, at = 1, refill = make(P, level, from, sources)}
    end
  end
  local one
  repeat
    local found = {}
    while #found < PIECE_ROWS and not is_enough() do
      one = nearest(sources)
      if not one then break end
      mark, seen_rows = one[2], seen_rows + 1
      found[#found + 1] = one
    end
    ready_rows(P, found, rows, told, others)
  until not one or is_enough()
  return not one, mark, rows
end

-- --- what has ended: batch by batch, as it did -----------------------------------------------------------------------------

local LETTER = STATE == 'completed' and 'C' or 'X'

-- A record without its result; nil: it is none, or of another ending.
local function without_result(text)
  if not text then return nil end
  bytes = bytes + #text
  local length, at = match(text, '^' .. LETTER .. '(%d+):()')
  length = stored(length, 1, #text)
  local stop = length and find(text, ':', at + length, true)
  return stop and sub(text, 1, stop), stop and sub(text, at, at) == 'x'
end

local function ids_of(element)
  local ids = {}
  for id in element:gmatch('[^\n]+') do ids[#ids + 1] = id end
  return ids
end

-- The ids of one element from number `at` on, piece by piece. Returns the number of the last one that was seen.
local function batch_rows(P, bucket, index, ids, at, rows)
  local count, step = 16, BACKWARDS and -1 or 1
  local stop = BACKWARDS and 1 or #ids
  while not is_enough() and (stop - at) * step >= 0 do
    local piece = {}
    local before = bytes
    while #piece < math.min(count, ROWS - seen_rows) and (stop - at) * step >= 0 do
      piece[#piece + 1], at = {at, ids[at]}, at + step
    end
    local names = {}
    for n, one in ipairs(piece) do names[n] = one[2] end
    for n, text in ipairs(whole(fetch(P .. 'done:' .. bucket, names), #names)) do
      local record, is_special = without_result(text)
      local mark = bucket .. ':' .. index .. ':' .. piece[n][1]
      seen_rows = seen_rows + 1
      if record then
        local x = is_special and whole(more_of(P, names[n]), 6) or {}
        rows[#rows + 1] = {mark, names[n], record, '', '', '', '', x}
      end
    end
    -- Results are large at times.
    count = bytes - before < 65536 and math.min(2 * count, 256) or math.max(1, math.floor(count / 2))
  end
  return at - step
end

-- The buckets there are, as far as their numbers can be believed.
local function buckets(P, now)
  local range = call('HMGET', P .. 'meta', 'bk', 'bn', 'bw')
  width_of(P, range[3])
  local current = bucket_at(P, now)
  local oldest, newest = stored(range[1], 0, current) or 0, stored(range[2], 0, current + 100) or current
  return math.max(oldest, bucket_at(P, now - KEEP), current - 100), newest
end

-- The elements of a list by their index, read some at a time: each command has to find its place in the list.
local AT_ONCE = 16
local function elements_of(key)
  local known = {}
  return function(index)
    if not known[index] then
      local low = BACKWARDS and math.max(0, index - AT_ONCE + 1) or index
      for n, element in ipairs(call('LRANGE', key, low, low + AT_ONCE - 1)) do known[low + n - 1] = element end
    end
    return known[index]
  end
end

-- From the element with this index on (nil: the first, or backwards the last one). Returns whether that was all, and where to go on.
local function bucket_rows(P, bucket, index, at, rows)
  local key, step = P .. 'ended:' .. LETTER .. ':' .. bucket, BACKWARDS and -1 or 1
  local length = call('LLEN', key)
  index = index or (BACKWARDS and length - 1 or 0)
  local mark
  local element_at = elements_of(key)
  while index >= 0 and index < length do
    if is_enough() then return false, mark end
    local ids = ids_of(element_at(index))
    local first = at or (BACKWARDS and #ids or 1)
    at = nil
    if (BACKWARDS and first >= 1) or (not BACKWARDS and first <= #ids) then
      local last = batch_rows(P, bucket, index, ids, math.min(first, #ids), rows)
      mark = bucket .. ':' .. index .. ':' .. last
      if (BACKWARDS and last > 1) or (not BACKWARDS and last < #ids) then return false, mark end
    end
    index = index + step
  end
  return true, mark
end

local function ended(P, now, mark)
  local oldest, newest = buckets(P, now)
  local bucket, index, at = match(mark, '^(%d+):(%d+):(%d+)$')
  bucket, index, at = stored(bucket), stored(index), stored(at)
  local step, rows = BACKWARDS and -1 or 1, rows_of_queue()
  local first, last = BACKWARDS and newest or oldest, BACKWARDS and oldest or newest
  if bucket then first = BACKWARDS and math.min(bucket, newest) or math.max(bucket, oldest) end
  for i = first, last, step do
    local is_own = bucket == i
    local is_all, reached = bucket_rows(P, i, is_own and index or nil, is_own and at + step or nil, rows)
    mark = reached or mark
    if not is_all then return false, mark, rows end
  end
  return true, mark, rows
end

local LOOKS = {ready = ready, delayed = in_set, leased = in_set, dead = in_set, completed = ended, cancelled = ended}
local reply = {}
for i = 1, #KEYS - 1 do
  local P = KEYS[i]
  local is_end, mark, rows = LOOKS[STATE](P, time_of(P, false), i == 1 and MARK or '')
  add_passed(rows)
  reply[i] = {is_end and 1 or 0, mark, rows, rows.last}
  if not is_end or is_enough() then break end
end
return reply
