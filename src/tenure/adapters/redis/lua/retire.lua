-- Ban an owner, and return everything it holds here. ARGV: owner, how it ended: crashed, lost (nobody knows) or left.
-- Returns the ids.
local P, owner, how = KEYS[1], ARGV[4], ARGV[5]
local now = time_of(P, true)
local back, mine, loans = begin_return(P), {}, call('HGETALL', P .. 'loan')
for i = 1, #loans, 2 do
  local _, who = read_loan(loans[i + 1])
  if who == owner then mine[loans[i]] = true end
end
local ids, fences, found = {}, {}, {}
if next(mine) then
  local lent = call('HGETALL', P .. 'l')
  for i = 1, #lent, 2 do
    if mine[lent[i + 1]] then ids[#ids + 1], fences[#fences + 1] = lent[i], lent[i + 1] end
  end
end
for n, record in ipairs(fetch(P .. 'm', ids)) do
  -- One that cannot be read, nor made anew, is put aside when its lease has lapsed.
  record = readable(P, ids[n], record)
  local _, level, place = read(record)
  if level then found[#found + 1] = {tonumber(place), ids[n], fences[n], record, level, place} end
end
table.sort(found, function(a, b) return a[1] < b[1] end)
for _, one in ipairs(found) do look_at(back, unpack(one, 2)) end
call('ZADD', G .. 'ban', num(now), owner)
call('ZREMRANGEBYSCORE', G .. 'ban', '-inf', num(now - KEEP))
local counter = how == 'crashed' and 'c' or how == 'lost' and 'l' or nil
local text, moved = counter and ending(how, owner) or nil, {}
for n, one in ipairs(back.all) do
  tell(back, one, counter, text)
  add(back, one, true)
  moved[n] = one.id
end
finish(back)
return moved
