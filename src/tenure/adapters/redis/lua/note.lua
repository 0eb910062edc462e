-- Progress or checkpoint of the holder. ARGV: field, then id, fence, owner, value. Returns 1 or 0 for each.
local P, field = KEYS[1], ARGV[4]
local answers, records = {}, {}
for at = 5, #ARGV, 4 do
  local id, fence = ARGV[at], ARGV[at + 1]
  local record = readable(P, id, call('HGET', P .. 'm', id))
  local stands = read(record) and call('HGET', P .. 'l', id) == fence and owner_of(P, fence) == ARGV[at + 2]
  if stands then
    -- A key of another kind must be found before anything is changed.
    call('HLEN', P .. 'x:' .. id)
    records[at] = record
  end
  answers[#answers + 1] = stands and 1 or 0
end
for at = 5, #ARGV, 4 do
  if records[at] then
    special(P, ARGV[at], records[at], 1)
    call('HSET', P .. 'x:' .. ARGV[at], field, ARGV[at + 3])
  end
end
return answers
