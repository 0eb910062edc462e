-- What an owner holds here. ARGV: owner, request or '*'. Returns for each id, envelope, fence, seconds, time left, counters.
local P, owner, request = KEYS[1], ARGV[4], ARGV[5]
local now = time_of(P, false)
local mine, loans = {}, call('HGETALL', P .. 'loan')
for i = 1, #loans, 2 do
  local seconds, who, asked = read_loan(loans[i + 1])
  if who == owner and (request == '*' or asked == sub(request, 2)) then mine[loans[i]] = seconds end
end
if not next(mine) then return {} end
local found, lent = {}, call('HGETALL', P .. 'l')
for i = 1, #lent, 2 do
  local id, fence = lent[i], lent[i + 1]
  local mark, level, place = read(mine[fence] and call('HGET', P .. 'm', id))
  if level then
    local left, counters = time_left(call('ZSCORE', P .. 'd', id), now), ''
    if mark == 'x' then
      local x = call('HMGET', P .. 'x:' .. id, 'd', 'a', 'c', 'l')
      counters = count_of(x[1]) .. ':' .. count_of(x[2]) .. ':' .. count_of(x[3]) .. ':' .. count_of(x[4])
    end
    found[#found + 1] = {tonumber(place), id, raw_of(P, id, level, place), fence, num(mine[fence]),
      left or num(mine[fence]), counters}
  end
end
table.sort(found, function(a, b) return a[1] < b[1] end)
local reply = {}
for _, one in ipairs(found) do
  for n = 2, 7 do reply[#reply + 1] = one[n] end
end
return reply
