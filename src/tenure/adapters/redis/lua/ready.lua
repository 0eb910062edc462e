-- When something is ready in a queue: microseconds from now, 0 for now, -1 for unknown.
local function ready_in(P)
  local levels = call('HGET', P .. 'meta', 'p')
  if not levels then return -1 end
  for level in levels:gmatch('%d') do
    if call('ZCARD', P .. 'b' .. level) > 0 then return 0 end
    local cursor = cursor_of(P, level)
    if #entries_after(P, level, cursor, 1) > 0 then return 0 end
  end
  local first = call('ZRANGE', P .. 'z', 0, 0, 'WITHSCORES')
  if not first[2] then return -1 end
  return math.max(0, math.min(LONGEST, tonumber(first[2]) - time_of(P, false)))
end
