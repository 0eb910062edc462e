-- Posts on the board: a hash of "<wall time until when it stands, or nothing>|<JSON>" by "<kind> <name>". ARGV: wall time, the
-- field; and, to post it, what it says from now on, and how many may stand; else it is withdrawn.
-- Returns 1 if that changed something, 0 if not, -1 if too many stand.
local KEY, wall, field, text = G .. 'posts', tonumber(ARGV[4]), ARGV[5], ARGV[6]

-- Whether it stands, or is over. Neither: it is none of ours.
local function standing(said)
  local ends = match(said or '', '^([^|]*)|')
  if not ends then return false, false end
  if ends == '' then return true, false end
  ends = stored(ends, -1e12, 1e12)
  if not ends then return false, false end
  return ends > wall, ends <= wall
end

if not text then
  local stands, is_over = standing(call('HGET', KEY, field))
  if stands or is_over then call('HDEL', KEY, field) end
  return stands and 1 or 0
end
local all, old, count, is_there = call('HGETALL', KEY), {}, 0, false
for at = 1, #all, 2 do
  local stands, is_over = standing(all[at + 1])
  if is_over then old[#old + 1] = all[at] end
  if stands then
    count = count + 1
    is_there = is_there or all[at] == field
  end
end
many('HDEL', KEY, old)
if is_there then return 0 end
if count >= tonumber(ARGV[7]) then return -1 end
call('HSET', KEY, field, text)
return 1
