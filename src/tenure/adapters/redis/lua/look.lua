-- When something can be leased from these queues: microseconds from now, 0 for now, -1 for unknown.
local soonest = -1
for i = 1, #KEYS - 1 do
  local left = ready_in(KEYS[i])
  if left == 0 then return 0 end
  if left > 0 and (soonest < 0 or left < soonest) then soonest = left end
end
return soonest
