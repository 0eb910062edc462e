-- Which of these queues know one of these messages, also as finished. ARGV: ids. Returns for each 1, 0, or -1 if it cannot be
-- read.
local ids, reply = {unpack(ARGV, 4)}, {}

local function knows(P)
  for _, record in ipairs(fetch(P .. 'm', ids)) do
    if record then return 1 end
  end
  if finished(P, time_of(P, false), ids) then return 1 end
  for _, large in ipairs(fetch(P .. 'large', ids)) do
    if large then return 1 end
  end
  return 0
end

for i = 1, #KEYS - 1 do
  local is_sound, answer = pcall(knows, KEYS[i])
  reply[i] = is_sound and answer or -1
end
return reply
