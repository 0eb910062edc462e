-- A page of what is ready, in order of arrival. ARGV: after (a place), limit. Returns place and id of each, by priority.
local P, after, limit = KEYS[1], ARGV[4], ARGV[5]
local reply = {}
for level in (call('HGET', P .. 'meta', 'p') or ''):gmatch('%d') do
  local back = call('ZRANGEBYSCORE', P .. 'b' .. level, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
  for i = 1, #back, 2 do
    -- A number that was written by hand says nothing: its place is in its record.
    local place = stored(back[i + 1]) and back[i + 1] or match(call('HGET', P .. 'm', back[i]) or '', '^x?%d(%d+)|')
    if place and #place <= 16 and match(place, '^%d+$') then reply[#reply + 1], reply[#reply + 2] = place, back[i] end
  end
  local cursor = match(cursor_of(P, level), '^%d+')
  local from = tonumber(cursor) > tonumber(after) and cursor or after
  for _, entry in ipairs(entries_after(P, level, from .. '-0', limit)) do
    reply[#reply + 1], reply[#reply + 2] = match(entry[1], '^%d+'), entry[2][2]
  end
end
return reply
