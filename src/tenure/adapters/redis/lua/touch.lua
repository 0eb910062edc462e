-- Move the deadlines of what is still held; never to an earlier moment. Each is a beat, and is counted for readers of
-- leases. ARGV: for each loan fence, owner, seconds, count, '1' if more is told, ids; if more is told, for each "<size>:<predicted>".
-- Returns 1 or 0 for each id; or the number of ids, if all are held.
local P = KEYS[1]
local now = time_of(P, true)
local answers, moved, held = {}, {}, 0
local beating, texts, longest = {}, {}, 0
local at = 4
while at <= #ARGV do
  local fence, owner, seconds, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local is_told = ARGV[at + 4] == '1'
  local ids = {unpack(ARGV, at + 5, at + 4 + count)}
  local is_mine = owner_of(P, fence) == owner
  local fences = fetch(P .. 'l', ids)
  local deadline, tail = num(now + seconds), ':' .. num(now) .. ':' .. ARGV[at + 2] .. ':'
  for n, id in ipairs(ids) do
    local stands = is_mine and fences[n] == fence
    if stands then
      moved[#moved + 1], moved[#moved + 2] = deadline, id
      held = held + 1
      beating[held] = id
      texts[held] = {fence .. ':', tail .. (is_told and ARGV[at + 4 + count + n] or ':')}
      longest = math.max(longest, seconds)
    end
    answers[#answers + 1] = stands and 1 or 0
  end
  at = at + 5 + count + (is_told and count or 0)
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

-- An ack, a nack and a sweep leave the beats as they are, so that messages which are never touched pay nothing for them. Here
-- some of those that have ended are dropped, and when nothing is touched any more, all expire.
local BEATS, SPARE, HOUR = P .. 'beats', 64, 3600
local function count_beats()
  local before, rows = fetch(BEATS, beating), {}
  for n, id in ipairs(beating) do
    local fence, tail = texts[n][1], texts[n][2]
    local old, beats = before[n], 0
    if old and sub(old, 1, #fence) == fence then beats = stored(match(old, '^(%d+):', #fence + 1)) or 0 end
    rows[2 * n - 1], rows[2 * n] = id, fence .. num(beats + 1) .. tail
  end
  many('HSET', BEATS, rows)
  if call('HLEN', BEATS) > 2 * call('HLEN', P .. 'l') + SPARE then
    local some, gone = call('HRANDFIELD', BEATS, 2 * SPARE), {}
    for n, fence in ipairs(fetch(P .. 'l', some)) do
      if not fence then gone[#gone + 1] = some[n] end
    end
    many('HDEL', BEATS, gone)
  end
  local needed = math.ceil(longest / 1000000) + HOUR
  if call('TTL', BEATS) < needed then call('EXPIRE', BEATS, needed + HOUR) end
end
-- If another value was put there by hand, a touch works without it.
if held > 0 and type(redis.pcall('HLEN', BEATS)) == 'number' then count_beats() end
if held == #answers then return held end
return answers
