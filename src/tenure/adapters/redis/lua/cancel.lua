-- Take messages out for good. ARGV: 'delete' (ready, delayed, dead) or 'cancel' (ready, delayed, leased), ids.
-- Returns the state of each until now; '' if nothing was changed.
local P, verb = KEYS[1], ARGV[4]
local now, CANCELS = time_of(P, true), 32 -- notice.py, KEPT_CANCELS
local answers, chosen, seen, rows, ended, leased = {}, {}, {}, {}, {}, {}
check_queue(P, now)
call('GET', G .. 'cancels')
call('LLEN', G .. 'cancelled')

-- Where it is, and whether that lets it be taken out.
local function look(id, record, level)
  local x = check_message(P, id, level)
  local fence = call('HGET', P .. 'l', id)
  local state = fence and 'leased' or call('ZSCORE', P .. 'z', id) and 'delayed'
    or call('ZSCORE', P .. 'dead', id) and 'dead' or 'ready'
  -- Done is done, though it is still held.
  local sealed = fence and x[1] and verb == 'cancel'
    and call('HGET', P .. 'k:' .. x[1], 'id') == id and call('HGET', P .. 'k:' .. x[1], 's') == 'done'
  if sealed or state == (verb == 'cancel' and 'dead' or 'leased') then return '' end
  -- A dead letter was announced when it died.
  x.asks = state ~= 'dead' and asks(record)
  if x.asks then check_announcements(P) end
  return state, fence, x
end

for at = 5, #ARGV do
  local id, state = ARGV[at], ''
  local record = call('HGET', P .. 'm', id)
  local _, level, place = read(record)
  if level and not seen[id] then
    local fence, x
    seen[id] = true
    state, fence, x = look(id, record, level)
    if state ~= '' then chosen[#chosen + 1] = {id, record, level, place, fence, x} end
  end
  answers[#answers + 1] = state
end
for _, one in ipairs(chosen) do
  local id, record, level, place, fence, x = unpack(one)
  local owner = fence and owner_of(P, fence)
  record = special(P, id, record, fence and 1 or 0)
  if fence then
    unlend(P, id, fence)
    leased[#leased + 1] = id
  end
  call('ZREM', P .. 'z', id)
  call('ZREM', P .. 'b' .. level, id)
  call('ZREM', P .. 'dead', id)
  call('XDEL', P .. 's' .. level, place .. '-0')
  if x[2] then call('ZREM', P .. 'u:' .. x[2], id) end
  end_claim(P, id, x[1], 'free')
  if x.asks then announce(P, id, record, 'X', '') end
  call('HDEL', P .. 'm', id)
  remember(P, id, ending('cancelled', owner))
  outlive(P, id)
  rows[#rows + 1], rows[#rows + 2] = id, as_finished('X', bare(record), '')
  ended[#ended + 1] = id
end
if #rows > 0 then keep_finished(P, now, rows, 'X', ended) end
if #leased > 0 then
  many('RPUSH', G .. 'cancelled', leased)
  call('LTRIM', G .. 'cancelled', -CANCELS, -1)
  local count = redis.pcall('INCRBY', G .. 'cancels', #leased)
  -- No number stands there: whatever is new makes workers look.
  if type(count) ~= 'number' then call('SET', G .. 'cancels', num(raw_time())) end
end
return answers
