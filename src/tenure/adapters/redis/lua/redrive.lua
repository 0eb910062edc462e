-- Send dead letters back. ARGV: for each id, digest of the envelope that was read, new envelope, scope or '', payload's digest.
-- Returns 1 or 0 for each.
local P = KEYS[1]
time_of(P, true)
local answers, stirred = {}, false
for at = 4, #ARGV, 5 do
  local id, key = ARGV[at], P .. 'x:' .. ARGV[at]
  local _, level, place = read(call('HGET', P .. 'm', id))
  local answer = 0
  if level and call('ZSCORE', P .. 'dead', id) and redis.sha1hex(call('HGET', key, 'e') or '') == ARGV[at + 1] then
    local unique = call('HGET', key, 'u')
    call('HDEL', key, 'd', 'a', 'c', 'l', 'r', 'f')
    call('HSET', key, 'e', ARGV[at + 2])
    if ARGV[at + 3] ~= '' then
      local scope = P .. 'k:' .. ARGV[at + 3]
      if call('EXISTS', scope) == 0 then call('HSET', scope, 'id', id, 'g', ARGV[at + 4], 's', 'sent') end
      call('HSET', key, 'k', ARGV[at + 3])
    end
    call('ZREM', P .. 'dead', id)
    let_wait(P, id, level, place, nil, unique)
    remember(P, id, ending('redriven'))
    answer, stirred = 1, true
  end
  answers[#answers + 1] = answer
end
if stirred then call('PUBLISH', P .. 'wake', '') end
return answers
