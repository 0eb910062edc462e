-- Which of several queues have something in a state. ARGV: state. Returns 1 or 0 for each; 1 may be too many, never 0.
local STATE = ARGV[4]
local SETS = {delayed = 'z', leased = 'd', dead = 'dead'}

local function has_ended(P)
  local range = call('HMGET', P .. 'meta', 'bk', 'bn', 'bw')
  if not range[1] then return false end
  width_of(P, range[3])
  local current = bucket_at(P, time_of(P, false))
  local oldest, newest = stored(range[1], 0, current) or 0, stored(range[2], 0, current + 100) or current
  local letter = STATE == 'completed' and 'C:' or 'X:'
  for i = newest, math.max(oldest, current - 100), -1 do
    if call('EXISTS', P .. 'ended:' .. letter .. i) == 1 then return true end
  end
  return false
end

local function has_something(P)
  if SETS[STATE] then return call('ZCARD', P .. SETS[STATE]) > 0 end
  -- Every message that waits or is held has its record there. Whether one of them is ready is found by reading on.
  if STATE == 'ready' then return call('HLEN', P .. 'm') > 0 end
  return has_ended(P)
end

local reply = {}
for i = 1, #KEYS - 1 do reply[i] = has_something(KEYS[i]) and 1 or 0 end
return reply
