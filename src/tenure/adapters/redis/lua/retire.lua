-- Ban an owner, and return everything it holds here. ARGV: owner, how it ended: crashed, lost (nobody knows) or left.
-- Returns the ids.
local P, owner, how = KEYS[1], ARGV[4], ARGV[5]
local now = time_of(P, true)
call('HLEN', P .. 'l')
call('ZADD', G .. 'ban', num(now), owner)
local mine, loans = {}, call('HGETALL', P .. 'loan')
for i = 1, #loans, 2 do
  local _, who = read_loan(loans[i + 1])
  if who == owner then mine[loans[i]] = true end
end
if not next(mine) then return {} end
local found, lent = {}, call('HGETALL', P .. 'l')
for i = 1, #lent, 2 do
  if mine[lent[i + 1]] then
    local record = call('HGET', P .. 'm', lent[i])
    local _, level, place = read(record)
    if level then found[#found + 1] = {tonumber(place), lent[i], lent[i + 1], record, level, place} end
  end
end
table.sort(found, function(a, b) return a[1] < b[1] end)
local ids = {}
for n, one in ipairs(found) do
  local id, key = one[2], P .. 'x:' .. one[2]
  special(P, id, one[4], 1)
  unlend(P, id, one[3])
  if how ~= 'left' then
    call('HINCRBY', key, how == 'crashed' and 'c' or 'l', 1)
    remember(P, id, ending(how, owner))
  end
  local x = call('HMGET', key, 'k', 'u')
  end_claim(P, id, x[1], 'release')
  let_wait(P, id, one[5], one[6], nil, x[2])
  ids[n] = id
end
if #ids > 0 then call('PUBLISH', P .. 'wake', '') end
return ids
