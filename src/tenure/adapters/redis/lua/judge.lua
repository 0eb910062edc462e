-- Was there a gap in the sweeps? ARGV: 'ask' or 'note', interval in microseconds. Returns 1 for a gap, and every queue.
-- 'note' writes down that there is a sweep now.
local now = time_of(G, true)
local last = tonumber(call('HGET', G .. 'meta', 'swept') or '')
local gap = (not last or now - last > 2 * tonumber(ARGV[5])) and 1 or 0
if ARGV[4] == 'note' or gap == 0 then call('HSET', G .. 'meta', 'swept', num(now)) end
return {gap, call('SMEMBERS', G .. 'queues')}
