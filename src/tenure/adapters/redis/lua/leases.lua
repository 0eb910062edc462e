-- What is lent, soonest deadline first. ARGV: word, then the rest.
-- count: of several queues. Returns how many deadlines each has.
-- rows:  of several queues; for each from which rank, and how many. Returns for each queue its time, the loans (fence, text), ids
--        and deadlines in turns, and of each of them its fence, record and beats; then number, attempts and progress of those
--        that are special.
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

-- Whole replies are handed on as they are: ten thousand rows that are put together here would hold the server up.
for i = 1, #KEYS - 1 do
  local P, from, count = KEYS[i], tonumber(ARGV[3 + 2 * i]), tonumber(ARGV[4 + 2 * i])
  local pairs_, ids = call('ZRANGE', P .. 'd', from, from + count - 1, 'WITHSCORES'), {}
  for n = 1, #pairs_, 2 do ids[(n + 1) / 2] = pairs_[n] end
  local fences, records = fetch(P .. 'l', ids), fetch(P .. 'm', ids)
  local beats = call('EXISTS', P .. 'beats') == 1 and fetch(P .. 'beats', ids) or {}
  local loans, known, more = {}, {}, {}
  for n = 1, #ids do
    local fence = fences[n]
    if fence and not known[fence] then
      known[fence] = true
      loans[#loans + 1], loans[#loans + 2] = fence, call('HGET', P .. 'loan', fence) or ''
    end
    if fence and records[n] and string.byte(records[n]) == 120 then
      local x = call('HMGET', P .. 'x:' .. ids[n], 'a', 'pg')
      more[#more + 1], more[#more + 2], more[#more + 3] = n - 1, x[1] or '', x[2] or ''
    end
  end
  reply[i] = {num(time_of(P, false)), loans, pairs_, fences, records, beats, more}
end
return reply
