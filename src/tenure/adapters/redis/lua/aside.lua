-- What an ack left to be sent cannot be read: it lies with the dead letters. ARGV: its id, the name that it gets there.
local P, id, name = KEYS[1], ARGV[4], ARGV[5]
local raw = call('HGET', P .. 'outbox', id)
if not raw then return 0 end
check_queue(P)
check_message(P, name, '0')
set_aside(P, name, '0', num(raw_time()), raw, 'hand-offs that cannot be read; the message they came with is done')
call('HDEL', P .. 'outbox', id)
return 1
