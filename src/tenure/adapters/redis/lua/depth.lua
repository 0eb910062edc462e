-- How much lies in each queue: ready, delayed, leased, dead, and when the oldest ready one was sent; or what is wrong with it.
local function depth_of(P)
  local leased, delayed, dead = call('HLEN', P .. 'l'), call('ZCARD', P .. 'z'), call('ZCARD', P .. 'dead')
  local ready = math.max(0, call('HLEN', P .. 'm') - leased - delayed - dead)
  local oldest, sent = nil, ''
  local levels = ready > 0 and call('HGET', P .. 'meta', 'p') or ''
  for level in levels:gmatch('%d') do
    local first = call('ZRANGE', P .. 'b' .. level, 0, 0, 'WITHSCORES')
    local cursor = cursor_of(P, level)
    local entry = entries_after(P, level, cursor, 1)[1]
    local heads = {{tonumber(first[2]), first[1]}, entry and {tonumber(match(entry[1], '^%d+')), entry[2][2]} or {}}
    for _, head in ipairs(heads) do
      local record = head[1] and (not oldest or head[1] < oldest) and call('HGET', P .. 'm', head[2])
      if record then oldest, sent = head[1], match(record, '|([^|]*)|') or '' end
    end
  end
  return {ready, delayed, leased, dead, sent}
end

local reply = {}
for i = 1, #KEYS - 1 do
  local is_sound, answer = pcall(depth_of, KEYS[i])
  if not is_sound then answer = {err = type(answer) == 'table' and answer.err or tostring(answer)} end
  reply[i] = answer
end
return reply
