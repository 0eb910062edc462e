-- Which of several queues have something in a state. ARGV: state. Returns 1 or 0 for each; 1 may be too many, never 0.
local STATE = ARGV[4]
local SETS = {delayed = 'z', leased = 'd', dead = 'dead'}

local function has_ready(P)
  for level in (call('HGET', P .. 'meta', 'p') or ''):gmatch('%d') do
    if call('ZCARD', P .. 'b' .. level) > 0 or #entries_after(P, level, cursor_of(P, level), 1) > 0 then return true end
  end
  return false
end

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

local reply = {}
for i = 1, #KEYS - 1 do
  local P, has = KEYS[i], nil
  if SETS[STATE] then has = call('ZCARD', P .. SETS[STATE]) > 0
  elseif STATE == 'ready' then has = has_ready(P)
  else has = has_ended(P) end
  reply[i] = has and 1 or 0
end
return reply
