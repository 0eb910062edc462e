-- Which queues have something, so that a worker on a thousand queues asks only those. Used by whatever makes a message wait.
--
-- G .. 'busy' is a zset of queues (their prefixes). A score below zero: something is ready; the lowest has waited longest for
-- its turn. Else the score is the moment at which the first delayed message is due. It is a hint: what is missing is listed
-- again within seconds (list.lua), and a queue that turns out to be empty is taken off by its asker. So garbage under
-- this key, or a key of another kind, must never stop a message: every command on it is a `pcall`.
--
-- In a cluster a queue's script does not reach that key; clients note it instead (store.py, `hint`).
local BUSY, READY = G .. 'busy', 4503599627370496
local IS_APART = G == KEYS[1] .. 'all:'

-- Listed by the server's own clock, without the offset of a queue's time: those differ.
local function listing_time() return GIVEN ~= '' and tonumber(GIVEN) or raw_time() end

-- Something is ready. A queue that is listed as such keeps its place.
local function list_ready(P)
  if not IS_APART then redis.pcall('ZADD', BUSY, 'LT', num(listing_time() - READY), P) end
end

-- Something will be, in so many microseconds.
local function list_due(P, wait)
  if wait <= 0 then return list_ready(P) end
  if not IS_APART then redis.pcall('ZADD', BUSY, 'LT', num(listing_time() + math.min(wait, LONGEST)), P) end
end

-- There is more: it is asked again when the others have had their turn.
local function list_last(P)
  if IS_APART then return end
  local now, top = listing_time() - READY, redis.pcall('ZREVRANGEBYSCORE', BUSY, '(0', '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
  local last = tonumber(top[2] or '')
  -- Ahead of its time by more than there are turns in a day: written by hand.
  if last and last >= now and last < now + AHEAD then now = last + 1 end
  redis.pcall('ZADD', BUSY, num(now), P)
end

-- Nothing is ready. Returns in how many microseconds something will be; nil: nothing is known of that. `due`: when, for whoever
-- knows it already; false: never.
local function list_empty(P, now, due)
  if due == nil then
    local first = call('ZRANGE', P .. 'z', 0, 0, 'WITHSCORES')
    due = tonumber(first[2] or '')
  end
  -- First something that frees memory: Redis refuses a script whose first write could need more than there is.
  if not IS_APART then redis.pcall('ZREM', BUSY, P) end
  if not due then return nil end
  list_due(P, due - now)
  return math.max(0, math.min(LONGEST, due - now))
end

-- What fell due becomes ready, so that it gets its turn. Returns those that are ready, in the order of their turns.
local function in_turn(skip, count)
  local now = listing_time()
  for _, P in ipairs(call('ZRANGEBYSCORE', BUSY, 0, num(now), 'LIMIT', 0, PIECE)) do
    call('ZADD', BUSY, num(now - READY), P)
  end
  return call('ZRANGEBYSCORE', BUSY, '-inf', '(0', 'LIMIT', skip, count)
end

-- Whether something is ready, or in how many microseconds it will be; nil: there is nothing.
local function ready_in(P)
  local levels = call('HGET', P .. 'meta', 'p')
  if not levels then return nil end
  for level in levels:gmatch('%d') do
    if call('ZCARD', P .. 'b' .. level) > 0 then return 0 end
    if #entries_after(P, level, cursor_of(P, level), 1) > 0 then return 0 end
  end
  local first = call('ZRANGE', P .. 'z', 0, 0, 'WITHSCORES')
  local due = tonumber(first[2] or '')
  return due and math.max(0, math.min(LONGEST, due - time_of(P, false)))
end

-- The name of a queue, from its prefix.
local gsub = string.gsub
local function name_of(P)
  return (gsub(match(P, '{(.*)}:$') or P, '%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end))
end

-- That there is such a queue. One that is new, or was forgotten, makes itself known with its first message.
local function make_known(P)
  if not IS_APART then redis.pcall('SADD', G .. 'queues', name_of(P)) end
end
