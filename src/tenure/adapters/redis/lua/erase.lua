-- Erase what is kept of messages of a queue that have ended. ARGV: keys of the queue, as SCAN found them. Returns how many records
-- went. What belongs to a message that has not ended stays.
local P, gone, is_bucket = KEYS[1], 0, false
local IS_OPEN = {}
check_queue(P)

local function is_open(id)
  if IS_OPEN[id] == nil then IS_OPEN[id] = call('HEXISTS', P .. 'm', id) == 1 end
  return IS_OPEN[id]
end

for n = 4, #ARGV do
  local key = ARGV[n]
  local kind, rest = match(sub(key, #P + 1), '^(%a+):(.*)$')
  if kind == 'done' then
    local count = redis.pcall('HLEN', key)
    gone = gone + (type(count) == 'number' and count or 0)
    call('UNLINK', key)
    is_bucket = true
  elseif kind == 'ended' then
    call('UNLINK', key)
  elseif kind == 'x' or kind == 'h' then
    if not is_open(rest) then call('UNLINK', key) end
  elseif kind == 'k' then
    local id = redis.pcall('HGET', key, 'id')
    if type(id) ~= 'string' or not is_open(id) then call('UNLINK', key) end
  end
end
-- The next message that ends makes a new bucket, and lets it expire.
if is_bucket then call('HDEL', P .. 'meta', 'bn') end
return gone
