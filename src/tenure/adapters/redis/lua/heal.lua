-- Put right what people, or another program, did to a queue by hand; a part of it each time. Nothing to do in a sound one.
-- A record that cannot be read is made again from the message's envelope, or goes to the dead letters, as it is. A message that is nowhere, neither waiting nor lent,
-- waits again; if its envelope is gone too, it goes to the dead letters. What has no record is dropped from where it lay.
-- What would be due after more than ten years is due now.
-- ARGV: how many to look at. Returns for each 1 (waits again), 2 (dead), 3 (dropped) or 4 (due now), and its id.
local P, COUNT = KEYS[1], ARGV[4]
local meta = call('HMGET', P .. 'meta', 'hm', 'hz', 'hd', 'p')
local levels, told, moved, stirred = meta[4] or '', {}, {}, false
check_queue(P)

local function from(text) return text and match(text, '^%d+$') or '0' end

local function note(kind, id) moved[#moved + 1], moved[#moved + 2] = kind, id end

-- In its stream, and still to be read.
local function is_ahead(level, place)
  told[level] = told[level] or tonumber(match(read_until(P, level) or cursor_of(P, level), '^%d+'))
  return tonumber(place) > told[level] and #call('XRANGE', P .. 's' .. level, place .. '-0', place .. '-0') > 0
end

local function set_right(id, record)
  local _, level, place = read(record)
  if not level then
    local rebuilt = rebuild(P, id)
    if rebuilt then
      record = rebuilt
      _, level, place = read(record)
    end
  end
  if level and not find(levels, level, 1, true) then
    levels = levels .. level
    told.levels = true
  end
  if level and is_ahead(level, place) then return end
  -- Its holder may still finish it.
  if call('HEXISTS', P .. 'l', id) == 1 then return end
  if not level then
    note(2, set_aside_unreadable(P, id, record))
  elseif not (call('ZSCORE', P .. 'z', id) or call('ZSCORE', P .. 'dead', id) or call('ZSCORE', P .. 'b' .. level, id)) then
    local raw = raw_of(P, id, level, place)
    if raw == '' then
      set_aside(P, id, level, place, record, 'its envelope is gone')
      note(2, id)
    else
      call('ZADD', P .. 'b' .. level, place, id)
      stirred = true
      note(1, id)
    end
  end
end

local now = time_of(P, false)
for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'z', num(now + LONGEST + AHEAD), '+inf', 'LIMIT', 0, COUNT)) do
  call('ZADD', P .. 'z', num(now), id)
  stirred = true
  if call('HEXISTS', P .. 'm', id) == 1 then note(4, id) end
end
local page = call('HSCAN', P .. 'm', from(meta[1]), 'COUNT', COUNT)
local delayed = call('ZSCAN', P .. 'z', from(meta[2]), 'COUNT', COUNT)
local dead = call('ZSCAN', P .. 'dead', from(meta[3]), 'COUNT', COUNT)
for i = 1, #page[2], 2 do set_right(page[2][i], page[2][i + 1]) end
for key, pairs_ in pairs({z = delayed[2], dead = dead[2]}) do
  for i = 1, #pairs_, 2 do
    if call('HEXISTS', P .. 'm', pairs_[i]) == 0 then
      call('ZREM', P .. key, pairs_[i])
      note(3, pairs_[i])
    end
  end
end
if page[1] ~= from(meta[1]) or delayed[1] ~= from(meta[2]) or dead[1] ~= from(meta[3]) then
  call('HSET', P .. 'meta', 'hm', page[1], 'hz', delayed[1], 'hd', dead[1])
end
if told.levels then
  local all = {}
  for one in levels:gmatch('%d') do all[#all + 1] = one end
  table.sort(all, function(a, b) return a > b end)
  call('HSET', P .. 'meta', 'p', table.concat(all))
end
if stirred then
  list_ready(P)
  call('PUBLISH', P .. 'wake', '')
end
return moved
