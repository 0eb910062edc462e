-- Send dead letters back. ARGV: for each id, digest of the envelope that was read, new envelope, scope or '', payload's digest,
-- new generation or ''. Returns 1 or 0 for each.
local P = KEYS[1]
time_of(P, true)
local answers, chosen, seen = {}, {}, {}
check_queue(P)
for at = 4, #ARGV, 6 do
  local id, scope = ARGV[at], ARGV[at + 3]
  local record = call('HGET', P .. 'm', id)
  local _, level, place = read(record)
  local answer = 0
  if level and not seen[id] and call('ZSCORE', P .. 'dead', id)
    and redis.sha1hex(call('HGET', P .. 'x:' .. id, 'e') or '') == ARGV[at + 1] then
    seen[id], answer = true, 1
    chosen[#chosen + 1] = {at, level, place, check_message(P, id, level), record}
    if scope ~= '' then call('HLEN', P .. 'k:' .. scope) end
  end
  answers[#answers + 1] = answer
end
for _, one in ipairs(chosen) do
  local at, level, place, x, record = unpack(one)
  local id, scope = ARGV[at], ARGV[at + 3]
  local key = P .. 'x:' .. id
  call('HDEL', key, 'd', 'a', 'c', 'l', 'r', 'f')
  call('HSET', key, 'e', ARGV[at + 2])
  if scope ~= '' then
    if call('EXISTS', P .. 'k:' .. scope) == 0 then
      call('HSET', P .. 'k:' .. scope, 'id', id, 'g', ARGV[at + 4], 's', 'sent')
    end
    call('HSET', key, 'k', scope)
  end
  local request = match(record, ASKS .. '%d+|(.*)$')
  if request and ARGV[at + 5] ~= '' then call('HSET', P .. 'm', id, bare(record) .. ASKS .. ARGV[at + 5] .. '|' .. request) end
  call('ZREM', P .. 'dead', id)
  let_wait(P, id, level, place, nil, x[2])
  remember(P, id, ending('redriven'))
end
if #chosen > 0 then
  list_ready(P)
  call('PUBLISH', P .. 'wake', '')
end
return answers
