-- Return what an owner holds, page by page. ARGV: mode, owner, then
-- look:  several queues. Returns for each 1 if it holds something there, else 0.
-- ban:   likewise, and bans it first: where what belongs to no queue is out of reach, each queue has its own list.
-- move:  one queue; how it ended (crashed or left), cursor, limit. Returns 1 if nothing is left here, else 0; the cursor
--        with which to go on; and the ids that were returned.
local mode, owner = ARGV[4], ARGV[5]

if mode == 'ban' then
  local now = time_of(G, true)
  call('ZADD', G .. 'ban', 'NX', num(now), owner)
  call('ZREMRANGEBYSCORE', G .. 'ban', '-inf', num(now - KEEP))
end

if mode ~= 'move' then
  local reply = {}
  for i = 1, #KEYS - 1 do
    reply[i] = 0
    for _, loan in ipairs(call('HVALS', KEYS[i] .. 'loan')) do
      local _, who = read_loan(loan)
      if who == owner then
        reply[i] = 1
        break
      end
    end
  end
  return reply
end

local P, how, cursor, limit = KEYS[1], ARGV[6], ARGV[7], tonumber(ARGV[8])
local back = begin_return(P)
local page = call('HSCAN', P .. 'l', cursor, 'COUNT', math.max(limit, 100))
local next_cursor, lent = page[1], page[2]
local is_done = next_cursor == '0' and 1 or 0

-- Whose each loan of the page is.
local fences, mine = {}, {}
for i = 2, #lent, 2 do
  if mine[lent[i]] == nil then
    mine[lent[i]] = false
    fences[#fences + 1] = lent[i]
  end
end
for n, loan in ipairs(fetch(P .. 'loan', fences)) do
  local _, who = read_loan(loan)
  mine[fences[n]] = who == owner
end

-- A page may name a lease twice.
local ids, fence_of = {}, {}
for i = 1, #lent, 2 do
  if mine[lent[i + 1]] and not fence_of[lent[i]] then
    ids[#ids + 1], fence_of[lent[i]] = lent[i], lent[i + 1]
  end
end
if #ids > limit then
  -- The rest of this page is for the next call.
  next_cursor, is_done = cursor, 0
  for n = #ids, limit + 1, -1 do ids[n] = nil end
end

-- First everything is looked at. A lease of nothing is only removed.
local found, remains = {}, {}
for n, record in ipairs(fetch(P .. 'm', ids)) do
  -- One that cannot be read, nor made again, is put aside when its lease has lapsed.
  record = readable(P, ids[n], record)
  local _, level, place = read(record)
  if level then
    found[#found + 1] = {tonumber(place), ids[n], fence_of[ids[n]], record, level, place}
  else
    remains[#remains + 1] = ids[n]
  end
end
table.sort(found, function(a, b) return a[1] < b[1] end)
for _, one in ipairs(found) do look_at(back, unpack(one, 2)) end
local counter = how == 'crashed' and 'c' or nil
local text, reply = counter and ending(how, owner) or nil, {is_done, next_cursor}
for _, one in ipairs(back.all) do
  tell(back, one, counter, text)
  add(back, one, true)
  reply[#reply + 1] = one.id
end
many('ZREM', P .. 'd', remains)
many('HDEL', P .. 'l', remains)
finish(back)
return reply
