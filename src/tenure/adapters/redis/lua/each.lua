-- One run for many queues: what stands in ARGV from ARGV[at] on is for each of the first `count` KEYS its length, then its own
-- part. `act` gets the queue, where its part begins and where it ends. What is wrong in one queue must not stop the others: its
-- answer is the error. The answer of a single queue is returned as it is.
local function each_queue(at, count, act)
  if count == 1 then return act(KEYS[1], at + 1, #ARGV) end
  local reply = {}
  for i = 1, count do
    local length = tonumber(ARGV[at])
    local is_done, answer = pcall(act, KEYS[i], at + 1, at + length)
    if not is_done then answer = {err = type(answer) == 'table' and answer.err or tostring(answer)} end
    reply[i] = answer
    at = at + 1 + length
  end
  return reply
end
