-- Pages of the journal on which a message stands, found by the marks that its events left (journal.lua). ARGV: the place before the
-- first one to look at, mark, the id as it is written, not older than. Returns the place to go on behind ('': the end), and number, count
-- and events of each page.
--
-- Where no mark is known, because an older version wrote the page or something else stands there, the page itself is looked at.
local KEY, BLOCK, NAMED, UNKNOWN = G .. 'journal', 16384, 8, '\0\0\0\0'
local MARK, WRITTEN, SINCE = ARGV[5], ARGV[6], tonumber(ARGV[7])
-- So many blocks, pages and bytes are looked at in one step.
local BLOCKS, PAGES, BYTES = 64, 100, 1048576
local blocks, pages, bytes = 0, 0, 0

-- Where `mark` stands, at a multiple of `width`.
local function aligned(text, mark, from, width)
  local at = find(text, mark, from, true)
  while at and (at - 1) % width ~= 0 do at = find(text, mark, at + 1, true) end
  return at
end

local function text_at(key)
  local text = redis.pcall('GET', key)
  return type(text) == 'string' and text or ''
end

local block, marks, named

-- The first place from `place` on, in its block, at which the message may stand; nil: none.
local function candidate(place)
  local own = math.floor(place / BLOCK)
  if own ~= block then
    block, blocks = own, blocks + 1
    marks, named = text_at(KEY .. ':i:' .. num(own)), text_at(KEY .. ':k:' .. num(own))
  end
  local start = own * BLOCK
  local offset, best = place - start, nil
  local from = 4 * offset + 1
  -- Behind the end of the marks nothing is known.
  best = math.max(offset, math.floor(#marks / 4))
  if best >= BLOCK then best = nil end
  for _, mark in ipairs({MARK, UNKNOWN}) do
    local at = aligned(marks, mark, from, 4)
    if at and (not best or (at - 1) / 4 < best) then best = (at - 1) / 4 end
  end
  local at = aligned(named, MARK, 1, NAMED)
  while at do
    local one = #named >= at + 7 and struct.unpack('<I4', named, at + 4) or BLOCK
    if one >= offset and one < BLOCK and (not best or one < best) then best = one end
    at = aligned(named, MARK, at + NAMED, NAMED)
  end
  return best and start + best
end

local place, reply = tonumber(ARGV[4]) + 1, {}
while blocks <= BLOCKS and pages < PAGES and bytes < BYTES do
  local found = candidate(place)
  if not found then
    place = (block + 1) * BLOCK
  else
    local page = call('XRANGE', KEY, num(found) .. '-0', '+', 'COUNT', 1)[1]
    if not page then return {'', reply} end
    local number, fields = match(page[1], '^%d+'), page[2]
    pages = pages + 1
    if fields[1] == 'c' and fields[7] == 'j' and (tonumber(fields[4]) or 0) >= SINCE and find(fields[8], WRITTEN, 1, true) then
      reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = page[1], fields[2], fields[8]
      bytes = bytes + #fields[8]
    end
    -- One with a number that cannot be counted from is the last.
    if not stored(number) then return {'', reply} end
    place = tonumber(number) + 1
  end
end
return {num(place - 1), reply}
