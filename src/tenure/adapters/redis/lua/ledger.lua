-- The ledger. ARGV: word, then entries.
local P, word = KEYS[1], ARGV[4]
local now = time_of(P, true)

-- A key of another kind where one of ours should be must be found before anything is changed: reading it is an error.
call('HLEN', P .. 'm')
call('HLEN', P .. 'l')
local asked = {}
for at = 5, word ~= 'claim' and #ARGV or 0, ({renew = 5, release = 4, seal = 7, forget = 1})[word] or 1 do
  call('HLEN', P .. 'k:' .. ARGV[at])
  if word == 'seal' then
    local record = call('HGET', P .. 'm', ARGV[at + 3])
    if record and ARGV[at + 6] ~= '' and not asks(record) then record = record .. ASKS .. ARGV[at + 6] end
    asked[at] = record
    if asks(record) then
      call('HLEN', P .. 'x:' .. ARGV[at + 3])
      check_announcements(P)
    end
  end
end

local function is_cancelled(id)
  if call('HEXISTS', P .. 'm', id) == 1 then return false end
  local old = finished(P, now, {id})
  return old and sub(old[id] or '', 1, 1) == 'X'
end

-- The fields of a claim that its next decision needs.
local function claim_of(key) return call('HMGET', key, 'id', 'g', 's', 'o', 'u', 'r', 'h') end

-- The message of a new claim is noted as special, with its key. One that was sent with the key is that already.
local function note_key(P, id, record, is_lent, scope, noted, asked)
  local is_special = sub(record, 1, 1) == 'x'
  local wanted = is_special and record or 'x' .. record
  if asked ~= '' and not asks(record) then wanted = wanted .. ASKS .. asked end
  if wanted ~= record then call('HSET', P .. 'm', id, wanted) end
  if not is_special and is_lent then
    call('HSET', P .. 'x:' .. id, 'k', scope, 'd', 1)
  elseif noted ~= scope then
    call('HSET', P .. 'x:' .. id, 'k', scope)
  end
  return wanted
end

-- scope, id, owner, seconds, digest, what a message asks for that Tenure did not send (announce.lua) or ''. Answers: fence (go
-- ahead), 'r' owner and time left, 'd' result and hand-offs, 'c' id. All that is needed is read first, which is also how a key
-- of another kind is found before anything is changed.
local function claim()
  local answers, fence, ids, banned, claims, noted = {}, nil, {}, {}, {}, {}
  for at = 5, #ARGV, 6 do
    local key, id, owner = P .. 'k:' .. ARGV[at], ARGV[at + 1], ARGV[at + 2]
    if banned[owner] == nil then banned[owner] = is_banned(owner) end
    if banned[owner] then return -1 end
    ids[#ids + 1] = id
    claims[key] = claims[key] or claim_of(key)
    noted[#ids] = call('HGET', P .. 'x:' .. id, 'k')
  end
  local records, lent = fetch(P .. 'm', ids), fetch(P .. 'l', ids)
  for at = 5, #ARGV, 6 do
    local scope, id, owner, seconds, digest = ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]), ARGV[at + 4]
    local key, n = P .. 'k:' .. scope, #answers + 1
    local c, answer = claims[key], nil
    if c[1] and c[2] ~= digest then
      answer = {'c', c[1]}
    elseif c[3] == 'done' then
      answer = {'d', c[6] or '', c[7] or ''}
    elseif c[3] == 'running' and c[4] and (stored(c[5], 0, now + LONGEST) or 0) >= now and not is_banned(c[4]) then
      answer = {'r', c[4], num(tonumber(c[5]) - now)}
    else
      if not fence then
        fence = num(math.max((stored(call('HGET', P .. 'meta', 'f')) or 0) + 1, now))
        call('HSET', P .. 'meta', 'f', fence)
      end
      answer = {'f', fence}
      -- A message that was cancelled since it was lent takes no other message's key.
      if records[n] or not is_cancelled(id) then
        call('HSET', key, 'id', id, 'g', digest, 's', 'running', 'o', owner, 'f', fence, 'u', num(now + seconds))
        claims[key] = {id, digest, 'running', owner, num(now + seconds), c[6], c[7]}
        if read(records[n]) then
          records[n] = note_key(P, id, records[n], lent[n], scope, noted[n], ARGV[at + 5])
        else
          -- Its message is elsewhere: nothing here would ever forget it.
          call('EXPIRE', key, 2 * seconds_of(math.max(KEEP, seconds)))
        end
      end
    end
    answers[n] = answer
  end
  return answers
end

-- scope, owner, fence, id, and what else the word needs.
local function each(width, act)
  local answers = {}
  for at = 5, #ARGV, width do
    local key = P .. 'k:' .. ARGV[at]
    local c = call('HMGET', key, 's', 'o', 'f')
    local mine = c[2] == ARGV[at + 1] and c[3] == ARGV[at + 2]
    answers[#answers + 1] = act(key, c[1], mine, at) and 1 or 0
  end
  return answers
end

if word == 'claim' then return claim() end
if word == 'renew' then
  return each(5, function(key, state, mine, at)
    if not mine or state ~= 'running' or is_banned(ARGV[at + 1]) then return false end
    call('HSET', key, 'u', num(now + tonumber(ARGV[at + 4])))
    if call('TTL', key) > 0 then call('EXPIRE', key, 2 * seconds_of(math.max(KEEP, tonumber(ARGV[at + 4])))) end
    return true
  end)
end
if word == 'release' then
  return each(4, function(key, state, mine, at)
    if not state then return not is_cancelled(ARGV[at + 3]) end
    if mine and state == 'running' then
      call('HSET', key, 's', 'sent')
      state = 'sent'
    end
    return mine and state == 'sent'
  end)
end
if word == 'seal' then
  return each(7, function(key, state, mine, at)
    if mine and state == 'running' and not is_banned(ARGV[at + 1]) then
      call('HSET', key, 's', 'done', 'r', ARGV[at + 4])
      if ARGV[at + 5] ~= '' then call('HSET', key, 'h', ARGV[at + 5]) end
      call('EXPIRE', key, seconds_of(KEEP))
      state = 'done'
      -- Its message may be elsewhere.
      local id = ARGV[at + 3]
      if read(asked[at]) then announce_once(P, id, asked[at], 'C', ARGV[at + 4]) end
    end
    return mine and state == 'done'
  end)
end
for at = 5, #ARGV do call('DEL', P .. 'k:' .. ARGV[at]) end
return 1
