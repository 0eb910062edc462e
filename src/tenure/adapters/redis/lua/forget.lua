-- Take queues off the list of those there are, if nothing is in them. ARGV: none. Returns for each 1 (it is off), or 0 (it stays).
local reply = {}
for i = 1, #KEYS - 1 do
  check_queue(KEYS[i])
  reply[i] = is_empty(KEYS[i]) and 1 or 0
  if reply[i] == 1 then forget_queue(KEYS[i]) end
end
return reply
