-- Endings are announced (rules/announcing.py), in the same step. Used by whatever ends a message.
--
-- What a message asks for follows its record, behind ASKS: "<generation>|<request>". So it is there when a message ends, costs a
-- lease nothing, and no key. Of one that ends and stays known, or is sealed before it ends, the generation is noted in its x:<id>,
-- field an. Announcements are a stream, G .. 'announcements': one for all queues; in a cluster, where scripts do not reach what
-- belongs to no queue, one for each. XADD numbers them by the server's time; a number is a place to read on from. An entry is
--   q, queue, i, id, h, "<generation>|<ending>|<time>|<bytes of a large result>|<task>", a, request, r, result or reason
--   q, queue, p, time, s, result, then id and record of each: messages of generation 0 that were completed together, all with
--              that result; or with o and '' before them, and of each its result as well, behind r (a pack)
-- Of a pack of which some are announced and others wait, HAD has, by its number, a letter for each: 1 is announced.
-- A result over the limit is not in its entry but in P .. 'large': id -> "<place>|<finished record>", which no bucket drops.
local ANNOUNCEMENTS, RESULT_LIMIT = G .. 'announcements', 65536 -- announcement.py, RESULT_LIMIT

local HAD = ANNOUNCEMENTS .. ':had'
-- A pack has so many at most, and about so many bytes of results.
local PACK, PACK_BYTES = 100, 131072

local checked = {}

-- A key of another kind must be found before anything is changed.
local function check_announcements(P)
  if checked[P] then return end
  call('XLEN', ANNOUNCEMENTS)
  call('HLEN', HAD)
  call('HLEN', P .. 'large')
  checked[P] = true
end

-- An entry was put there by hand with the highest number there is, so that no other can follow it. The stream is written
-- anew: what is numbered ahead of its time gets new numbers, in its order.
local function number_anew(key)
  local copy, from, latest = key .. ':copy', '-', (raw_time() + AHEAD) / 1000
  call('DEL', copy)
  repeat
    local some = call('XRANGE', key, from, '+', 'COUNT', PIECE)
    for _, entry in ipairs(some) do
      local is_ahead = tonumber(match(entry[1], '^%d+')) > latest
      call('XADD', copy, is_ahead and '*' or entry[1], unpack(entry[2]))
    end
    local last = some[#some] and some[#some][1]
    from = last and '(' .. last
  until #some < PIECE or last == HIGHEST .. '-' .. HIGHEST
  call('DEL', key)
  call('DEL', HAD)
  if call('EXISTS', copy) == 1 then call('RENAME', copy, key) end
end

local function append(...)
  local added = redis.pcall('XADD', ANNOUNCEMENTS, '*', ...)
  if type(added) ~= 'table' or not added.err then return added end
  if not is_too_low(added.err) then error(added.err, 0) end
  number_anew(ANNOUNCEMENTS)
  return call('XADD', ANNOUNCEMENTS, '*', ...)
end

-- Whether a message asks for anything; and what: its generation and the request, or nothing if that cannot be read.
local function asks(record) return record and find(record, ASKS, 1, true) and true or false end
local function asked_of(record) return match(record or '', ASKS .. '(%d+)|(%[.*%])$') end

-- Announce how a message ended, if it asked for it and none of its ends in this generation was announced. `ending`: C, D or X;
-- `about`: a result or a reason. Returns the generation if it did.
local function announce(P, id, record, ending, about)
  local generation, request = asked_of(record)
  if not generation then return nil end
  if sub(record, 1, 1) == 'x' and call('HGET', P .. 'x:' .. id, 'an') == generation then return nil end
  local is_large = ending == 'C' and #about > RESULT_LIMIT
  local how = generation .. '|' .. ending .. '|' .. WALL .. '|' .. (is_large and #about or '') .. '|'
  local place = append('q', P, 'i', id, 'h', how .. (match(bare(record), '|[^|]*|(.*)$') or ''), 'a', request,
    'r', is_large and '' or about)
  if is_large then call('HSET', P .. 'large', id, place .. '|' .. as_finished('C', bare(record), about)) end
  return generation
end

-- Likewise, of a message that stays known: its next ends in this generation are not announced.
local function announce_once(P, id, record, ending, about)
  local generation = announce(P, id, record, ending, about)
  if generation then call('HSET', P .. 'x:' .. id, 'an', generation) end
end

-- Plain messages that were completed together: id, record and result of each in turns, from `first` on. As many as fit are one entry.
local function announce_together(P, ends, first)
  local common, is_same, last, size = ends[first + 2], true, first, 0
  while last <= #ends and last < first + 3 * PACK and size < PACK_BYTES do
    is_same, size = is_same and ends[last + 2] == common, size + #ends[last + 2]
    last = last + 3
  end
  local entry, n = {'q', P, 'p', WALL, is_same and 's' or 'o', is_same and common or ''}, 6
  for at = first, last - 1, 3 do
    entry[n + 1], entry[n + 2] = ends[at], ends[at + 1]
    n = n + 2
    if not is_same then
      entry[n + 1], entry[n + 2] = 'r', ends[at + 2]
      n = n + 2
    end
  end
  append(unpack(entry))
  if last <= #ends then announce_together(P, ends, last) end
end
