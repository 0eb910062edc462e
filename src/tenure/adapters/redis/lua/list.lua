-- Look whether queues are listed that have something: those who send with an older version do not list them. ARGV: none.
-- Returns the microseconds until something can be leased for each (0: now; -1: nothing is known of that), in a cluster, where
-- the client lists them; else how many were listed.
local scores = IS_APART and {} or redis.pcall('ZMSCORE', BUSY, unpack(KEYS, 1, #KEYS - 1))
if scores.err then scores = {} end
local reply, count = {}, 0
for i = 1, #KEYS - 1 do
  local P, score = KEYS[i], tonumber(scores[i] or '')
  reply[i] = -1
  if not score or score >= 0 then
    -- A queue's error is returned when the queue is asked.
    local is_sound, wait = pcall(ready_in, P)
    if not is_sound then wait = 0 end
    if wait then
      reply[i] = wait
      -- One that is listed for a later moment than it should be is listed again.
      list_due(P, wait)
      count = count + 1
    end
  end
end
if IS_APART then return reply end
return count
