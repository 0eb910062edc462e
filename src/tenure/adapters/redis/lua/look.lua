-- When something can be leased from these queues: microseconds from now, 0 for now, -1 for unknown.
local soonest = -1
for i = 1, #KEYS - 1 do
  local P = KEYS[i]
  local levels = call('HGET', P .. 'meta', 'p')
  if levels then
    for level in levels:gmatch('%d') do
      if call('ZCARD', P .. 'b' .. level) > 0 then return 0 end
      local cursor = cursor_of(P, level)
      if #entries_after(P, level, cursor, 1) > 0 then return 0 end
    end
    local first = call('ZRANGE', P .. 'z', 0, 0, 'WITHSCORES')
    if first[2] then
      local left = math.max(0, math.min(LONGEST, tonumber(first[2]) - time_of(P, false)))
      if left == 0 then return 0 end
      if soonest < 0 or left < soonest then soonest = left end
    end
  end
end
return soonest
