-- Move the deadlines of what is still held; never to an earlier moment. ARGV: for each loan fence, owner, seconds, count, ids.
-- Returns 1 or 0 for each id; or the number of ids, if all are held.
local P = KEYS[1]
local now = time_of(P, true)
local answers, moved, held = {}, {}, 0
local at = 4
while at <= #ARGV do
  local fence, owner, seconds, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local ids = {unpack(ARGV, at + 4, at + 3 + count)}
  local is_mine = owner_of(P, fence) == owner
  local fences = fetch(P .. 'l', ids)
  local deadline = num(now + seconds)
  for n, id in ipairs(ids) do
    local stands = is_mine and fences[n] == fence
    if stands then
      moved[#moved + 1], moved[#moved + 2] = deadline, id
      held = held + 1
    end
    answers[#answers + 1] = stands and 1 or 0
  end
  at = at + 4 + count
end
local changed = 0
for i = 1, #moved, PIECE do
  changed = changed + call('ZADD', P .. 'd', 'GT', 'CH', unpack(moved, i, math.min(i + PIECE - 1, #moved)))
end
if changed < held then
  -- Some end later than that. What is left of a fresh window is theirs; but they were heard, and may get another.
  for i = 2, #moved, 2 do
    local score = tonumber(call('ZSCORE', P .. 'd', moved[i]) or '')
    if score and score % 1 > 0 then call('ZADD', P .. 'd', num(score - 0.5), moved[i]) end
  end
end
if held == #answers then return held end
return answers
