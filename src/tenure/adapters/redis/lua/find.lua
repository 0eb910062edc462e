-- Everything about messages. ARGV: ids. For each: false, or state, record, time left, fence, owner, envelope, details, history,
-- finished record.
local P = KEYS[1]
local now = time_of(P, false)
local answers, unknown = {}, {}
for at = 4, #ARGV do
  local id = ARGV[at]
  local record, answer = call('HGET', P .. 'm', id), false
  local mark, level, place = read(record)
  -- What has a record that cannot be read is shown too, until it is put right.
  if record then
    local fence, state, left, owner = call('HGET', P .. 'l', id), 'ready', '', ''
    if fence then
      state, left, owner = 'leased', time_left(call('ZSCORE', P .. 'd', id), now) or '', owner_of(P, fence) or ''
    else
      local due = time_left(call('ZSCORE', P .. 'z', id), now)
      if due then
        state, left = 'delayed', due
      elseif call('ZSCORE', P .. 'dead', id) then
        state = 'dead'
      end
    end
    local raw = level and raw_of(P, id, level, place) or call('HGET', P .. 'x:' .. id, 'e') or record
    answer = {state, record, left, fence or '', owner, raw,
      mark ~= '' and call('HGETALL', P .. 'x:' .. id) or {}, call('LRANGE', P .. 'h:' .. id, 0, -1)}
  else
    unknown[#unknown + 1] = id
  end
  answers[#answers + 1] = answer
end
local old = #unknown > 0 and finished(P, now, unknown)
-- Its bucket may be gone, while an announcement still needs its result (announce.lua).
for n, large in ipairs(#unknown > 0 and fetch(P .. 'large', unknown) or {}) do
  if large then
    old = old or {}
    old[unknown[n]] = old[unknown[n]] or match(large, '^[^|]*|(.*)$')
  end
end
if old then
  for n = 1, #answers do
    local id = ARGV[n + 3]
    if not answers[n] and old[id] then
      answers[n] = {'finished', old[id], '', '', '', '', call('HGETALL', P .. 'x:' .. id),
        call('LRANGE', P .. 'h:' .. id, 0, -1)}
    end
  end
end
return answers
