-- Rows of a table (`table.py`), changed only by callers that know their value. Groups of writes: each as a whole, or not at
-- all, and in this order.
--
-- KEYS: the table's own name; then of each part its hash and its sorted set, which all lie in one slot.
-- ARGV: for each group how many writes it has; then for each of them the number of its part, its sort, the mode (new: it
-- must not be there; old: it must say what comes next; any), what it must say, the new text (empty: it goes), when its
-- part may be forgotten (empty: never; keep: as was said before), and whether its part is read in order.
-- Returns 1 for each group that was carried out, 0 for each that was not.
--
-- What is there is read with one command a part, and written with one: the most of what a write costs is the command.
local call, PIECE, FIELDS = redis.call, 1000, 7
local parts = (#KEYS - 1) / 2

local function in_pieces(values, act)
  for from = 1, #values, PIECE do act(unpack(values, from, math.min(from + PIECE - 1, #values))) end
end

-- `act` gets where the words of each group's writes begin, and how many writes they are.
local function each_group(act)
  local at = 1
  while at <= #ARGV do
    local count = tonumber(ARGV[at])
    act(at + 1, count)
    at = at + 1 + count * FIELDS
  end
end

local known, asked = {}, {}
for part = 1, parts do known[part], asked[part] = {}, {} end
each_group(function(at, count)
  for n = at, at + (count - 1) * FIELDS, FIELDS do
    local part, sort = tonumber(ARGV[n]), ARGV[n + 1]
    if known[part][sort] == nil then
      known[part][sort] = false
      table.insert(asked[part], sort)
    end
  end
end)
local was = {}
for part = 1, parts do
  was[part] = {}
  local place = 0
  in_pieces(asked[part], function(...)
    for _, text in ipairs(call('HMGET', KEYS[2 * part], ...)) do
      place = place + 1
      local sort = asked[part][place]
      known[part][sort], was[part][sort] = text, text
    end
  end)
end

local answers, changed, forget, ordered = {}, {}, {}, {}
for part = 1, parts do changed[part] = {} end
each_group(function(at, count)
  for n = at, at + (count - 1) * FIELDS, FIELDS do
    local text, mode = known[tonumber(ARGV[n])][ARGV[n + 1]], ARGV[n + 2]
    if (mode == 'new' and text) or (mode == 'old' and text ~= ARGV[n + 3]) then
      table.insert(answers, 0)
      return
    end
  end
  for n = at, at + (count - 1) * FIELDS, FIELDS do
    local part, sort, text = tonumber(ARGV[n]), ARGV[n + 1], ARGV[n + 4]
    if text == '' then text = false end
    known[part][sort], changed[part][sort] = text, true
    if text then forget[part] = ARGV[n + 5] end
    ordered[part] = ARGV[n + 6] == '1'
  end
  table.insert(answers, 1)
end)

-- What is added first: a script that fails in the middle is not undone.
for part = 1, parts do
  local hash, order, texts, fresh = KEYS[2 * part], KEYS[2 * part + 1], {}, {}
  for sort in pairs(changed[part]) do
    local text = known[part][sort]
    if text then
      table.insert(texts, sort)
      table.insert(texts, text)
      if ordered[part] and not was[part][sort] then
        table.insert(fresh, 0)
        table.insert(fresh, sort)
      end
    end
  end
  in_pieces(fresh, function(...) call('ZADD', order, ...) end)
  in_pieces(texts, function(...) call('HSET', hash, ...) end)
  if #texts > 0 and forget[part] == '' then call('PERSIST', hash)
  elseif #texts > 0 and forget[part] ~= 'keep' then call('EXPIREAT', hash, forget[part]) end
end
for part = 1, parts do
  local gone = {}
  for sort in pairs(changed[part]) do
    if was[part][sort] and not known[part][sort] then table.insert(gone, sort) end
  end
  in_pieces(gone, function(...)
    call('HDEL', KEYS[2 * part], ...)
    if ordered[part] then call('ZREM', KEYS[2 * part + 1], ...) end
  end)
end
return answers
