-- Which queues have something. ARGV: how many of those that are ready to pass over, and to tell; how many delayed ones to tell;
-- who asks, or ''. Returns -1 for an owner that is banned.
-- Returns the ready ones, in the order of their turns; and each delayed one with the microseconds until then.
if ARGV[7] ~= '' and is_banned(ARGV[7]) then return -1 end
local ready = in_turn(ARGV[4], ARGV[5])
local delayed, most, now = {}, tonumber(ARGV[6]), listing_time()
if most > 0 then
  delayed = call('ZRANGEBYSCORE', BUSY, num(now), '+inf', 'WITHSCORES', 'LIMIT', 0, most)
  for i = 2, #delayed, 2 do delayed[i] = num(math.max(0, math.min(LONGEST, tonumber(delayed[i]) - now))) end
end
return {ready, delayed}
