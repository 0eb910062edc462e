-- Was there a gap: in the sweeps, or in what is heard of workers? ARGV: 'ask' or 'note', interval and silence in
-- microseconds. Returns 1 for a gap, and every queue. 'note' writes down that there is a sweep now, and that everybody has
-- got a fresh window. A silence counts once: perhaps there are no workers.
local now = time_of(G, true)
local meta = call('HMGET', G .. 'meta', 'swept', 'heard', 'excused', 'unheard')
local last, heard = tonumber(meta[1] or ''), tonumber(meta[2] or '')
local silence = meta[4] or (heard and now - heard > tonumber(ARGV[6]) and meta[3] ~= meta[2])
local gap = (not last or now - last > 2 * tonumber(ARGV[5]) or silence) and 1 or 0
if ARGV[4] == 'note' or gap == 0 then call('HSET', G .. 'meta', 'swept', num(now)) end
if ARGV[4] == 'note' then
  call('HDEL', G .. 'meta', 'unheard')
  if meta[2] then call('HSET', G .. 'meta', 'excused', meta[2]) end
end
return {gap, call('SMEMBERS', G .. 'queues')}
