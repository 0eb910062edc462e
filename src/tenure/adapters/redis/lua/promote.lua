-- Make delayed messages ready before their time. ARGV: ids. Returns the state of each until now; '' if it is not in this queue, or
-- has ended.
local P = KEYS[1]
time_of(P, true)
local answers, chosen, ready = {}, {}, {}
check_queue(P)
for at = 4, #ARGV do
  local id, state = ARGV[at], ''
  local _, level, place = read(call('HGET', P .. 'm', id))
  if level then
    call('ZCARD', P .. 'b' .. level)
    state = ready[id] and 'ready' or call('HGET', P .. 'l', id) and 'leased' or call('ZSCORE', P .. 'z', id) and 'delayed'
      or call('ZSCORE', P .. 'dead', id) and 'dead' or 'ready'
    if state == 'delayed' then
      chosen[#chosen + 1], ready[id] = {id, level, place}, true
    end
  end
  answers[#answers + 1] = state
end
for _, one in ipairs(chosen) do
  local id, level, place = unpack(one)
  -- First something that frees memory: Redis refuses a script whose first write could need more than there is.
  call('ZREM', P .. 'z', id)
  call('ZADD', P .. 'b' .. level, place, id)
end
if #chosen > 0 then
  list_ready(P)
  call('PUBLISH', P .. 'wake', '')
end
return answers
