-- One lease by its name. ARGV: id, fence, owner. Returns for the first queue in which it stands: the number of the queue,
-- envelope, seconds, time left, counters; or nothing.
local id, fence, owner = ARGV[4], ARGV[5], ARGV[6]
for i = 1, #KEYS - 1 do
  local P = KEYS[i]
  if call('HGET', P .. 'l', id) == fence then
    local seconds, who = read_loan(call('HGET', P .. 'loan', fence))
    local mark, level, place = read(call('HGET', P .. 'm', id))
    if who == owner and level then
      local left, counters = time_left(call('ZSCORE', P .. 'd', id), time_of(P, false)), ''
      if mark == 'x' then
        local x = call('HMGET', P .. 'x:' .. id, 'd', 'a', 'c', 'l')
        counters = count_of(x[1]) .. ':' .. count_of(x[2]) .. ':' .. count_of(x[3]) .. ':' .. count_of(x[4])
      end
      return {i - 1, raw_of(P, id, level, place), num(seconds), left or num(seconds), counters}
    end
  end
end
return {}
