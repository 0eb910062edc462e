-- Queues in which nothing is left. Used by sweep and forget.
--
-- What was completed there is still recognised: the buckets stay for their time, and so does meta, which knows them. A queue
-- without priorities in its meta is none: with the next message it is made again, and makes itself known (store.lua).

local EMPTY_FOR = 3600 * 1000000

-- Results that an announcement needs are found by the list of queues; and in a cluster, so are announcements.
local function is_empty(P)
  return call('HLEN', P .. 'm') + call('HLEN', P .. 'l') + call('ZCARD', P .. 'z') + call('ZCARD', P .. 'dead')
    + call('HLEN', P .. 'outbox') + call('HLEN', P .. 'large') + (IS_APART and call('XLEN', G .. 'announcements') or 0) == 0
end

local function forget_queue(P)
  for level = 0, 9 do
    local size = redis.pcall('XLEN', P .. 's' .. level)
    if size == 0 then call('UNLINK', P .. 's' .. level) end
  end
  call('HDEL', P .. 'meta', 'p', 'em')
  call('EXPIRE', P .. 'meta', 2 * math.max(1, math.ceil(KEEP / 1000000)))
  if IS_APART then
    call('UNLINK', G .. 'announcements')
    return
  end
  redis.pcall('SREM', G .. 'queues', name_of(P))
  redis.pcall('ZREM', G .. 'lent', P)
  redis.pcall('ZREM', BUSY, P)
end

-- Forget a queue that was empty for an hour, seen at two sweeps, with nothing sent in between. Returns 1 if it was.
local function forget_if_idle(P, now)
  local meta = call('HMGET', P .. 'meta', 'em', 'n', 'p')
  local count = meta[2] or ''
  local since, before = match(meta[1] or '', '^(%d+)|(.*)$')
  since = stored(since, 0, now)
  if not since or before ~= count then
    call('HSET', P .. 'meta', 'em', num(now) .. '|' .. count)
    return 0
  end
  if now - since < EMPTY_FOR or not is_empty(P) then return 0 end
  forget_queue(P)
  return 1
end
