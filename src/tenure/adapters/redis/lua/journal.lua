-- Append to the journal: a stream of pages, each numbered by the place of its last event. ARGV: count, newest, oldest, events,
-- most events, '1' if it was said before and not answered, marks, named.
--
-- So that the events of one message are found without reading all (about.lua), each event leaves a mark: four bytes made of the id
-- that it is about, or NOBODY. They lie by place in strings of BLOCK marks, journal:i:<block>. Events that name several messages
-- leave one more for each, with the place in the block, in journal:k:<block>. `marks` are those of the page, `named` are mark and
-- number in the page for each of the others. Older versions leave none: zeros say that nothing is known.
local KEY, BLOCK, NAMED = G .. 'journal', 16384, 8
local count, most = tonumber(ARGV[4]), tonumber(ARGV[8])
call('XLEN', KEY)
if ARGV[9] == '1' then
  for _, page in ipairs(call('XREVRANGE', KEY, '+', '-', 'COUNT', 200)) do
    if page[2][8] == ARGV[7] then return match(page[1], '^%d+') end
  end
end
local last = (stored(call('GET', G .. 'journal:n')) or 0) + count
call('SET', G .. 'journal:n', num(last))
local function add()
  local keep = num(math.max(0, last - most))
  return redis.pcall('XADD', KEY, 'MINID', '~', keep, num(last) .. '-0', 'c', count, 'n', ARGV[5], 'o', ARGV[6], 'j', ARGV[7])
end
local added = add()
if type(added) == 'table' and added.err and not is_too_low(added.err) then error(added.err, 0) end
if type(added) == 'table' and added.err then
  -- A higher number was put there by hand: go on behind it. A page with a number that cannot be counted from is
  -- dropped: no reader could go on behind it either.
  local top, dropped = call('XREVRANGE', KEY, '+', '-', 'COUNT', 1)[1], 0
  while top and dropped < PIECE and not stored(match(top[1], '^%d+')) do
    dropped = dropped + call('XDEL', KEY, top[1])
    top = call('XREVRANGE', KEY, '+', '-', 'COUNT', 1)[1]
  end
  last = math.max(last, tonumber(match(top and top[1] or '0', '^%d+'))) + count
  call('SET', G .. 'journal:n', num(last))
  added = add()
  if type(added) == 'table' and added.err then
    -- The stream has had that number, and takes no lower one.
    write_anew(KEY, PIECE)
    added = add()
  end
  if type(added) == 'table' and added.err then error(added.err, 0) end
end

-- What is not written here, because something else stands there, is looked for in the events themselves.
local first, at = last - count + 1, 0
while at < count do
  local block = math.floor((first + at) / BLOCK)
  local offset = first + at - block * BLOCK
  local size = math.min(count - at, BLOCK - offset)
  redis.pcall('SETRANGE', KEY .. ':i:' .. num(block), 4 * offset, sub(ARGV[10], 4 * at + 1, 4 * (at + size)))
  at = at + size
end
for n = 1, #ARGV[11], NAMED do
  local place = first + struct.unpack('<I4', ARGV[11], n + 4)
  local block = math.floor(place / BLOCK)
  local named = sub(ARGV[11], n, n + 3) .. struct.pack('<I4', place - block * BLOCK)
  redis.pcall('APPEND', KEY .. ':k:' .. num(block), named)
end
if math.floor(last / BLOCK) ~= math.floor((last - count) / BLOCK) then
  -- Once in a block: those of events that are forgotten go too.
  local kept = math.floor(math.max(0, last - most) / BLOCK)
  for block = math.max(0, kept - 8), kept - 1 do call('UNLINK', KEY .. ':i:' .. num(block), KEY .. ':k:' .. num(block)) end
end
call('PUBLISH', KEY .. ':wake', '')
return num(last)
