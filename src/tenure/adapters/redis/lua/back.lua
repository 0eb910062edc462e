-- Many leases end without a settle, and their messages go back. Used by sweep and retire.
--
-- First everything is looked at, so that a key of another kind is found before anything is changed. Then each message is
-- told of; then they are put where they wait; and only then are they no longer lent.

-- `P` is the queue. What is added goes back with `finish`.
local function begin_return(P)
  check_queue(P)
  return {P = P, levels = {}, all = {}, marks = {}, ids = {}, by_fence = {}, waiting = {}}
end

-- A message that will be moved. x: its key, unique, most attempts and losses, if it has any.
local function look_at(back, id, fence, record, level, place)
  local P, x = back.P, {}
  if not back.levels[level] then
    call('XLEN', P .. 's' .. level)
    call('ZCARD', P .. 'b' .. level)
    back.levels[level] = true
  end
  call('LLEN', P .. 'h:' .. id)
  if sub(record, 1, 1) == 'x' then
    x = call('HMGET', P .. 'x:' .. id, 'k', 'u', 'ma', 'l')
    if x[1] then call('HLEN', P .. 'k:' .. x[1]) end
    if x[2] then call('ZCARD', P .. 'u:' .. x[2]) end
  else
    call('HLEN', P .. 'x:' .. id)
  end
  back.all[#back.all + 1] = {id = id, fence = fence, record = record, level = level, place = place, x = x}
  return x
end

-- Its history gets `text`; if given, its counter is raised, and its reason is `reason`. Returns how high the counter is then.
local function tell(back, one, counter, text, reason)
  local P, id = back.P, one.id
  local key = P .. 'x:' .. id
  if text and call('RPUSH', P .. 'h:' .. id, text) > HISTORY then call('LTRIM', P .. 'h:' .. id, -HISTORY, -1) end
  if sub(one.record, 1, 1) == 'x' then
    if reason then call('HSET', key, 'r', reason) end
    return counter and raise(key, counter, 1) or 0
  end
  -- Nothing was to be told of it before: this was its first delivery, and this is its first count.
  local fields = {'d', 1}
  if counter then fields[3], fields[4] = counter, 1 end
  if reason then fields[5], fields[6] = 'r', reason end
  call('HSET', key, unpack(fields))
  return 1
end

-- Lent no more, with `finish`. `waits`: it goes back to its place; else it is somewhere else already.
local function add(back, one, waits)
  local P, id, marks = back.P, one.id, back.marks
  if sub(one.record, 1, 1) ~= 'x' then marks[#marks + 1], marks[#marks + 2] = id, 'x' .. one.record end
  back.ids[#back.ids + 1] = id
  back.by_fence[one.fence] = (back.by_fence[one.fence] or 0) + 1
  if not waits then return end
  end_claim(P, id, one.x[1], 'release')
  if one.x[2] then call('ZADD', P .. 'u:' .. one.x[2], one.place, id) end
  local places = back.waiting[one.level]
  if not places then
    places = {}
    back.waiting[one.level] = places
  end
  places[#places + 1], places[#places + 2] = one.place, id
end

local function finish(back)
  local P = back.P
  many('HSET', P .. 'm', back.marks)
  for level, places in pairs(back.waiting) do many('ZADD', P .. 'b' .. level, places) end
  many('HDEL', P .. 'l', back.ids)
  many('ZREM', P .. 'd', back.ids)
  for fence, count in pairs(back.by_fence) do give_up(P, fence, count) end
  if next(back.waiting) then
    list_ready(P)
    call('PUBLISH', P .. 'wake', '')
  end
end
