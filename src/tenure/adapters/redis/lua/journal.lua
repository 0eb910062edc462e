-- The journal: a stream of pages, each numbered by the place of its last event. ARGV: word, then the rest.
local KEY, word = G .. 'journal', ARGV[4]

if word == 'append' then
  -- count, newest, oldest, events, most events, '1' if it was said before and not answered
  local count = tonumber(ARGV[5])
  call('XLEN', KEY)
  if ARGV[10] == '1' then
    for _, page in ipairs(call('XREVRANGE', KEY, '+', '-', 'COUNT', 200)) do
      if page[2][8] == ARGV[8] then return match(page[1], '^%d+') end
    end
  end
  local last = (stored(call('GET', G .. 'journal:n')) or 0) + count
  call('SET', G .. 'journal:n', num(last))
  local function add()
    local keep = num(math.max(0, last - tonumber(ARGV[9])))
    return redis.pcall('XADD', KEY, 'MINID', '~', keep, num(last) .. '-0', 'c', count, 'n', ARGV[6], 'o', ARGV[7], 'j', ARGV[8])
  end
  local added = add()
  if type(added) == 'table' and added.err and not is_too_low(added.err) then error(added.err, 0) end
  if type(added) == 'table' and added.err then
    -- Somebody put a higher number there by hand: go on behind it. A page with a number that cannot be counted from is
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
  return num(last)
end

-- Pages after a place, in which `word` stands: from, count, word, not older than.
local reply, last = {}, ARGV[5]
for _, page in ipairs(call('XRANGE', KEY, '(' .. ARGV[5], '+', 'COUNT', ARGV[6])) do
  local fields = page[2]
  last = page[1]
  if fields[1] == 'c' and fields[7] == 'j' and (tonumber(fields[4]) or 0) >= tonumber(ARGV[8])
    and find(fields[8], ARGV[7], 1, true) then
    reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = page[1], fields[2], fields[8]
  end
end
return {last, reply}
