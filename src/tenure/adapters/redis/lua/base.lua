-- What every script begins with: names, time, and commands over many values.
--
-- KEYS: the prefix of each queue, then G, the prefix of what belongs to no queue. All keys of a queue begin with its
-- prefix, which carries its hash tag, so declaring the prefix covers all of them.
-- ARGV: the time in microseconds (empty: Redis's own), wall time as JSON, the keep window in microseconds; then the rest.
--
-- A queue is made of
--   meta     hash: t, o (time), f (fence), n (place), p (priorities in use), c<p> (cursors),
--            bk, bn, bw (oldest and newest bucket, their width), run (the server, since it began),
--            al, ad (how far leases and deadlines were compared), hm, hz, hd (how far healing is)
--   s<p>     stream of one priority: id and envelope; the entry's number is the message's place
--   b<p>     zset place -> id: what came back, or fell due; lent before the stream
--   z        zset due -> id: delayed
--   m        hash id -> record "<p><place>|<sent_at>|<task>"; an x before it: there is more in x:<id>. Of a message that asks to
--            be announced, what it asks for follows (announce.lua)
--   l, d     hash id -> fence, zset deadline -> id: what is lent. d is the truth for sweeps. Deadlines are whole
--            microseconds; half a microsecond more marks a lease that got a fresh window and was not touched since
--   loan, n  hash fence -> "<seconds>|<length of owner>|<owner><request>", and how many are still held under it; for a
--            holder without presence NO_PRESENCE (move.lua) follows the request
--   dead     zset end -> id, by Redis's own clock; what an older version put there lies by its place
--   done:<i> hash id -> record of what is finished, in buckets of time that are dropped as a whole
--   ended:C:<i>, ended:X:<i>   list: the ids of each batch that was completed or cancelled, of the same bucket; for people
--            who look. Older versions made none
--   beats    hash id -> "<fence>:<beats>:<last>:<seconds>:<size>:<predicted>" of what was touched; what it says under
--            another fence counts for nothing. It is tidied by touch, and goes by itself
--   x:<id>   hash: counters d a c l, reason r, envelope e, key k, unique u, lease s, max attempts ma, notes pg cp,
--            the generation whose end was announced an, ...
--   h:<id>   list: the last endings
--   k:<scope>, u:<scope>   who has a key; who waits under a `unique`
local call, fmt, sub, match, find = redis.call, string.format, string.sub, string.match, string.find
local G, GIVEN, WALL, KEEP = KEYS[#KEYS], ARGV[1], ARGV[2], tonumber(ARGV[3])
local PIECE, HISTORY, BUCKETS = 1000, 20, 4

local function num(n) return fmt('%.0f', n) end

-- Stored numbers are moments and counts in microseconds, below this: Lua counts exactly up to twice as far. People write
-- into our keys by hand: a loop up to Infinity, or one that counts where adding 1 changes nothing, would never end, and
-- Redis would answer no other client. So every number that a script reads from a key is read by `stored`.
local MOST_STORED = 4503599627370496
-- No delay and no lease is longer than ten years (LONGEST_SECONDS); what lies further ahead was written by hand.
local LONGEST = 3653 * 86400 * 1000000
-- A day: clocks of servers may differ, and a queue that is filled fast is ahead of its clock, but not by so much.
local AHEAD = 86400 * 1000000

-- The number in `text` if it is one, and lies within bounds; else nil, as if it were not there.
local function stored(text, least, most)
  local n = tonumber(text or '')
  if n and n >= (least or 0) and n <= (most or MOST_STORED) then return n end
end

local RAW

-- Microseconds by Redis's own clock, which stands still while a script runs.
local function raw_time()
  if not RAW then
    local t = call('TIME')
    RAW = t[1] * 1000000 + t[2]
  end
  return RAW
end

-- Microseconds that never go back: where Redis's clock does, the difference is kept as an offset.
-- `last`: the fields t and o of meta, if the caller has read them already.
local function time_of(P, writes, last)
  if GIVEN ~= '' then return tonumber(GIVEN) end
  local raw = raw_time()
  last = last or call('HMGET', P .. 'meta', 't', 'o')
  local t, o = stored(last[1]) or 0, stored(last[2]) or 0
  if raw < t then
    if writes then call('HSET', P .. 'meta', 't', num(raw), 'o', num(o + t - raw)) end
    return t + o
  end
  if writes and raw - t > 10000 then call('HSET', P .. 'meta', 't', num(raw)) end
  return raw + o
end

-- One command for many values; Lua cannot pass on more than some thousands at once.
local function many(command, key, values)
  local n = #values
  if n == 0 then return end
  if n <= PIECE then return call(command, key, unpack(values)) end
  for i = 1, n, PIECE do call(command, key, unpack(values, i, math.min(i + PIECE - 1, n))) end
end

local function fetch(key, fields)
  local n = #fields
  if n == 0 then return {} end
  if n <= PIECE then return call('HMGET', key, unpack(fields)) end
  local all = {}
  for i = 1, n, PIECE do
    local piece = call('HMGET', key, unpack(fields, i, math.min(i + PIECE - 1, n)))
    for j = 1, #piece do all[#all + 1] = piece[j] end
  end
  return all
end

-- Which server this is, since when it runs. '': it must not be asked.
local function run_id()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and match(info, 'run_id:(%x+)') or ''
end

-- Mark, priority and place of a record. nil: it is none.
local function read(record)
  if not record then return nil end
  local mark, level, place = match(record, '^(x?)(%d)(%d+)|')
  -- Longer than any place: no stream has such a number.
  if not place or #place > 16 then return nil end
  return mark, level, place
end

-- How far the stream of a priority was read, by its own account; nil if that is gone.
local function read_until(P, level)
  local groups = redis.pcall('XINFO', 'GROUPS', P .. 's' .. level)
  for _, group in ipairs(groups.err and {} or groups) do
    for i = 1, #group, 2 do
      if group[i] == 'name' and group[i + 1] ~= 'tenure' then break end
      if group[i] == 'last-delivered-id' then return group[i + 1] end
    end
  end
end

-- How far lending is in the stream of a priority. What cannot be read there is asked of the stream itself.
-- `kept`: the field of meta, if the caller has read it already.
local function cursor_of(P, level, kept)
  local cursor = kept or call('HGET', P .. 'meta', 'c' .. level)
  local place, rest = match(cursor or '', '^(%d+)%-(%d+)$')
  if place and #rest <= 16 and stored(place, 0, raw_time() + AHEAD) then return cursor end
  return read_until(P, level) or '0-0'
end

local HIGHEST = '18446744073709551615'

-- The first entries of the stream of a priority behind a number.
local function entries_after(P, level, number, count)
  -- Behind the highest number there is nothing, and Redis calls it an error to ask.
  if number == HIGHEST .. '-' .. HIGHEST then return {} end
  return call('XRANGE', P .. 's' .. level, '(' .. number, '+', 'COUNT', count)
end

-- Whether an XADD was refused for its number, and not because memory is short or the key is of another kind.
local function is_too_low(error) return find(error, 'equal or smaller', 1, true) or find(error, 'exhausted', 1, true) end

-- A stream written again with its newest entries: it forgets which numbers it has had. (XSETID cannot: from Redis 7 on it
-- takes no number below one that was removed.)
local function write_anew(key, most)
  local entries = call('XREVRANGE', key, '+', '-', 'COUNT', most)
  call('DEL', key)
  for n = #entries, 1, -1 do call('XADD', key, entries[n][1], unpack(entries[n][2])) end
end

-- A person put an entry with a number above all of ours into a stream, so that Redis takes no lower one there any more. Once
-- that entry is gone, and few are left, the stream is written again; its reader goes on at `place`, if it was further.
-- Returns whether the stream takes numbers above `place` now.
local FEW_ENTRIES = 100
local function go_on_from(P, level, place)
  local key = P .. 's' .. level
  local top = call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  if top and tonumber(match(top[1], '^%d+')) > place or call('XLEN', key) > FEW_ENTRIES then return false end
  local number, reader = num(place) .. '-0', read_until(P, level)
  if not reader or tonumber(match(reader, '^%d+')) > place then reader = number end
  write_anew(key, FEW_ENTRIES)
  call('XGROUP', 'CREATE', key, 'tenure', reader, 'MKSTREAM')
  local cursor = call('HGET', P .. 'meta', 'c' .. level)
  if cursor and (tonumber(match(cursor, '^%d+')) or 0) > place then call('HSET', P .. 'meta', 'c' .. level, number) end
  return true
end

-- How much time a bucket takes. It stands with the queue: not everybody was told the same window.
local WIDTH, widths = math.ceil(KEEP / BUCKETS), {}

local function width_of(P, text)
  local width = widths[P]
  if not width then
    width = stored(text or call('HGET', P .. 'meta', 'bw') or '', 1, LONGEST) or WIDTH
    widths[P] = width
  end
  return width
end

local function bucket_at(P, moment) return math.floor(moment / width_of(P)) end

-- The finished among `ids`: id -> record, or nil if there are none. `range`: the numbers of the oldest and the newest
-- bucket, and their width: fields bk, bn and bw of meta.
local function finished(P, now, ids, range)
  range = range or call('HMGET', P .. 'meta', 'bk', 'bn', 'bw')
  if not range[1] or not range[2] then return nil end
  width_of(P, range[3])
  local current = bucket_at(P, now)
  -- What cannot be a bucket's number says nothing about where to look.
  local oldest, newest = stored(range[1], 0, current) or 0, stored(range[2], 0, current + 100) or current
  local found
  for i = math.min(newest, current + 100), math.max(oldest, bucket_at(P, now - KEEP), current - 100), -1 do
    local records = fetch(P .. 'done:' .. i, ids)
    for n = 1, #ids do
      if records[n] then
        found = found or {}
        found[ids[n]] = found[ids[n]] or records[n]
      end
    end
  end
  return found
end

-- Behind it, in a record, is what its message asks for (announce.lua).
local ASKS = '\31'

-- A record without what its message asks for.
local function bare(record)
  local at = find(record, ASKS, 1, true)
  return at and sub(record, 1, at - 1) or record
end

-- What is kept of a message that is completed (C) or cancelled (X). `record` is bare.
local function as_finished(state, record, result)
  return state .. #record .. ':' .. record .. WALL .. ':' .. result
end

local function is_banned(owner) return call('ZSCORE', G .. 'ban', owner) and true or false end

-- Whether no worker was heard for longer than can be put down to the workers: `least` microseconds, and three times as long
-- as usual (`pace`), so that where they are always slow, nothing is excused for ever.
local function is_silence(now, heard, pace, least)
  return heard and now - heard > math.max(tonumber(least), 3 * (stored(pace) or 0)) or false
end
