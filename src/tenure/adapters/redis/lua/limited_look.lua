-- When something can be leased from each of these limited queues: microseconds from now, 0 for now, -1 for unknown (also: when a
-- lease ends). ARGV: of each queue the most that may run and the most a second, '' for no limit.
local answers = {}
for i = 1, #KEYS - 1 do
  local P = KEYS[i]
  local ready = ready_in(P)
  if ready >= 0 then
    local _, open = allowance(P, tonumber(ARGV[2 * i + 2]), tonumber(ARGV[2 * i + 3]), MOST_STORED)
    ready = open < 0 and -1 or math.max(ready, open)
  end
  answers[i] = ready
end
return answers
