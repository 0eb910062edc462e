-- Small documents: for each kind a hash of "<version>|<wall time at which it expires, or nothing>|<data>" by name; the kinds
-- there are; and "<kind> <name>" of those that expire, by when. ARGV: word, wall time, then the rest.
-- put:    kind, name, expected version ('': there must be none), new version, when it expires ('': never), data. Returns 1 or 0.
-- remove: kind, name, expected version ('': any). Returns 1 or 0.
-- prune:  so many at most. Returns how many went, and how many were looked at.
local KINDS, ENDS, word, wall = G .. 'kv!kinds', G .. 'kv!ends', ARGV[4], tonumber(ARGV[5])

-- The version of a document that has not expired, and whether it has. Neither: there is none of ours.
local function read_document(said)
  local version, ends = match(said or '', '^(%x+)|([^|]*)|')
  if not version then return nil, false end
  if ends == '' then return version, false end
  ends = stored(ends, -1e12, 1e12)
  if not ends then return nil, false end
  if ends <= wall then return nil, true end
  return version, false
end

if word == 'prune' then
  local old, gone = call('ZRANGEBYSCORE', ENDS, '-inf', ARGV[5], 'LIMIT', 0, ARGV[6]), 0
  for _, place in ipairs(old) do
    local kind, name = match(place, '^(%S+) (.*)$')
    -- A key of another kind does not stop the pruning of the others.
    local said = kind and redis.pcall('HGET', G .. 'kv:' .. kind, name)
    if type(said) == 'string' and select(2, read_document(said)) then
      gone = gone + call('HDEL', G .. 'kv:' .. kind, name)
    end
  end
  many('ZREM', ENDS, old)
  return {gone, #old}
end

local key, name, place = G .. 'kv:' .. ARGV[6], ARGV[7], ARGV[6] .. ' ' .. ARGV[7]
local version = read_document(call('HGET', key, name))
-- Keys of another kind must be found before anything is changed.
call('ZCARD', ENDS)
if word == 'remove' then
  if not version or (ARGV[8] ~= '' and ARGV[8] ~= version) then return 0 end
  call('ZREM', ENDS, place)
  return call('HDEL', key, name)
end
call('SCARD', KINDS)
if (version or '') ~= ARGV[8] then return 0 end
call('HSET', key, name, ARGV[9] .. '|' .. ARGV[10] .. '|' .. ARGV[11])
call('SADD', KINDS, ARGV[6])
if ARGV[10] == '' then call('ZREM', ENDS, place) else call('ZADD', ENDS, ARGV[10], place) end
return 1
