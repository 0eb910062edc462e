-- Lend from one limited queue. ARGV: as for lease.lua; last the most that may run and the most a second, '' for no limit. Returns
-- what lease.lua does; {{-5, microseconds}} while the limit allows nothing (-1: until a lease ends).
if is_banned(ARGV[4]) then return -1 end
local most, wait_for = allowance(KEYS[1], RUNNING, RATE, tonumber(ARGV[6]))
if most == 0 then return {{-5, wait_for}} end
ARGV[6] = num(most)
local reply = lease()
if RATE and type(reply) == 'table' then
  local count = 0
  for _, loan in ipairs(reply) do
    if loan[1] >= 0 then count = count + #loan[4] end
  end
  if count > 0 then
    local now = time_of(KEYS[1], false)
    -- Not `call`: these are lent, and must be returned.
    redis.pcall('HSET', KEYS[1] .. 'meta', 'lt', tostring(tokens_of(KEYS[1], now, RATE) - count), 'la', num(now))
  end
end
return reply
