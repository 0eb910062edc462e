-- Announcements that wait. ARGV: word, then
-- read: a number of XRANGE to begin at, how many at most, and about how many bytes. Returns 1 if there are no more behind these,
--       else 0; and entries with what HAD says of each, or ''. At least one is read, whatever its size.
-- end:  of one queue; for each place, id and generation.
-- pack: of one queue; for each pack its place, which of it counted from 0, joined by commas ('': all), and their ids, each on a line.
local word = ARGV[4]

if word == 'read' then
  -- So many entries are read in one step: their sizes are not known before.
  local MOST, step = 16, 1
  local from, most, room, found, count = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), {}, 0
  repeat
    local some = call('XRANGE', ANNOUNCEMENTS, from, '+', 'COUNT', step)
    for _, entry in ipairs(some) do
      if room <= 0 and count > 0 then return {0, found} end
      local fields, size = entry[2], 1
      local had = ''
      if fields[3] == 'p' then
        size = math.max(1, (#fields - 6) / (fields[5] == 's' and 2 or 4))
        had = call('HGET', HAD, entry[1]) or ''
      end
      found[#found + 1], found[#found + 2], found[#found + 3] = entry[1], fields, had
      count = count + size
      for _, text in ipairs(fields) do room = room - #text end
    end
    if #some < step or from == '(' .. HIGHEST .. '-' .. HIGHEST then return {1, found} end
    from = '(' .. some[#some][1]
    step = math.max(1, math.min(MOST, math.floor((most - count) * (#found / 3) / count)))
  until count >= most or some[#some][1] == HIGHEST .. '-' .. HIGHEST
  return {0, found}
end

local P = KEYS[1]
check_announcements(P)

local function entry_at(place)
  local entry = call('XRANGE', ANNOUNCEMENTS, place, place)[1]
  local fields = entry and entry[2]
  return fields and fields[1] == 'q' and fields[2] == P and fields or nil
end

if word == 'pack' then
  for at = 5, #ARGV, 3 do
    local place, which, ids = ARGV[at], ARGV[at + 1], ARGV[at + 2]
    local fields = entry_at(place)
    local had = fields and fields[3] == 'p' and (call('HGET', HAD, place) or '')
    if had then
      local width, own, chosen = fields[5] == 's' and 2 or 4, {}, {}
      local size = (#fields - 6) / width
      if which == '' then
        for n = 0, size - 1 do own[n + 1] = fields[7 + n * width] end
      else
        for text in which:gmatch('%d+') do
          local n = tonumber(text)
          own[#own + 1], chosen[n] = fields[7 + n * width] or '', true
        end
      end
      if table.concat(own, '\n') == ids then
        local left, letters = 0, {}
        for n = 0, size - 1 do
          local is_done = which == '' or chosen[n] or sub(had, n + 1, n + 1) == '1'
          letters[n + 1] = is_done and '1' or '0'
          if not is_done then left = left + 1 end
        end
        if left == 0 then
          call('XDEL', ANNOUNCEMENTS, place)
          if had ~= '' then call('HDEL', HAD, place) end
        else
          call('HSET', HAD, place, table.concat(letters))
        end
      end
    end
  end
  return 1
end

for at = 5, #ARGV, 3 do
  local place, id, generation = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local fields = entry_at(place) or {}
  if fields[3] == 'i' and fields[4] == id and find(fields[6] or '', generation .. '|', 1, true) == 1 then
    call('XDEL', ANNOUNCEMENTS, place)
    local large = call('HGET', P .. 'large', id)
    if large and sub(large, 1, #place + 1) == place .. '|' then call('HDEL', P .. 'large', id) end
  end
end
return 1
