-- What is lent, soonest deadline first. ARGV: word, then the rest.
-- count: of several queues. Returns how many deadlines each has.
-- rows:  of several queues; for each from which rank, and how many. Returns for each queue its time, the loans (fence, text), and of
--        each lease id, time left, fence, record, beats, attempts, progress.
-- sweep: of what belongs to no queue. Returns how long ago the last sweep was, and how often there is one (microseconds); or
--        nothing.
local word = ARGV[4]

if word == 'sweep' then
  local now, told = time_of(G, false), call('HMGET', ARGV[5], 'at', 'every')
  local at, every = stored(told[1], 0, now + AHEAD), stored(told[2], 0, LONGEST)
  return at and {num(math.max(0, now - at)), every and num(every) or ''} or {}
end

local reply = {}
if word == 'count' then
  for i = 1, #KEYS - 1 do reply[i] = call('ZCARD', KEYS[i] .. 'd') end
  return reply
end

for i = 1, #KEYS - 1 do
  local P, from, count = KEYS[i], tonumber(ARGV[3 + 2 * i]), tonumber(ARGV[4 + 2 * i])
  local now, ids, scores = time_of(P, false), {}, {}
  local pairs_ = call('ZRANGE', P .. 'd', from, from + count - 1, 'WITHSCORES')
  for n = 1, #pairs_, 2 do ids[#ids + 1], scores[#scores + 1] = pairs_[n], pairs_[n + 1] end
  local fences, records = fetch(P .. 'l', ids), fetch(P .. 'm', ids)
  local beats = call('EXISTS', P .. 'beats') == 1 and fetch(P .. 'beats', ids) or {}
  local loans, known, rows, size = {}, {}, {}, 0
  for n, id in ipairs(ids) do
    local fence, record = fences[n], records[n]
    -- A deadline of nobody, or a lease of nothing, is dropped by the next sweep.
    if fence and record then
      if not known[fence] then
        known[fence] = true
        loans[#loans + 1], loans[#loans + 2] = fence, call('HGET', P .. 'loan', fence) or ''
      end
      local x = sub(record, 1, 1) == 'x' and call('HMGET', P .. 'x:' .. id, 'a', 'pg') or {}
      rows[size + 1], rows[size + 2], rows[size + 3], rows[size + 4] = id, time_left(scores[n], now) or '0', fence, record
      rows[size + 5], rows[size + 6], rows[size + 7] = beats[n] or '', x[1] or '', x[2] or ''
      size = size + 7
    end
  end
  reply[i] = {num(now), loans, rows}
end
return reply
