-- Was there a gap: in the sweeps, or in what is heard of workers? ARGV: 'ask' or 'note', interval and silence in
-- microseconds. Returns 1 for a gap in the sweeps, how long a silence was (0: there was none), every queue, those in which a
-- lease may have lapsed (false: that cannot be read), and 1 if the server is another one than at the last sweep, or restarted.
-- 'note' writes down that there is a sweep now, and that what fell into the silence is excused.
-- A key of another kind must be found before anything is changed.
local queues, now = call('SMEMBERS', G .. 'queues'), time_of(G, true)
local meta = call('HMGET', G .. 'meta', 'swept', 'heard', 'excused', 'unheard', 'pace')
local last, heard = stored(meta[1], 0, now), stored(meta[2], 0, now)
local gap = (not last or now - last > 2 * tonumber(ARGV[5])) and 1 or 0
-- Since when, if a worker was heard again meanwhile; else a silence counts once, because perhaps there are no workers.
local since = stored(meta[4], 0, now)
if not since and meta[3] ~= meta[2] and is_silence(now, heard, meta[5], ARGV[6]) then since = heard end
if ARGV[4] == 'note' then
  call('HDEL', G .. 'meta', 'unheard')
  if meta[2] then call('HSET', G .. 'meta', 'excused', meta[2]) end
end
if ARGV[4] == 'note' or (gap == 0 and not since) then call('HSET', G .. 'meta', 'swept', num(now)) end
-- For those who look at leases (sweep_time.py).
redis.pcall('HSET', G .. 'sweep', 'at', num(now), 'wall', GIVEN ~= '' and WALL or fmt('%.6f', raw_time() / 1000000), 'every', ARGV[5])
local run, lent = run_id(), redis.pcall('ZRANGEBYSCORE', G .. 'lent', '-inf', num(GIVEN ~= '' and now or raw_time()))
local is_new = run ~= '' and call('HGET', G .. 'meta', 'run') ~= run and 1 or 0
if is_new == 1 then call('HSET', G .. 'meta', 'run', run) end
return {gap, since and num(math.max(0, now - since)) or '0', queues, not lent.err and lent, is_new}
