-- Done. ARGV: how many queues; then for each (each.lua) the numbers of loans and of claims, as in 2/1; for each claim the number
-- of its ack among all, its scope and its fence; for each loan fence, owner, count, count times id and
-- result; then, if it is one queue, hand-offs: the number of the ack among all, the number of the queue among KEYS, count,
-- entries as for `store`; or the number of the ack, 0, and those for queues that are out of reach, as they are: they are kept
-- until they are sent; or the number of an ack, -1 and '': its work was done before, and its end is not announced.
-- Where the claim is not its owner's any more, the message is not deleted: it is taken over.
-- Returns 1 (deleted), 2 (taken over) or 3 (already gone) for each; or the count, if all are deleted.

-- Whether an owner still has a claim: its scope and its fence.
local function has_claim(P, owner, claim)
  local c = call('HMGET', P .. 'k:' .. claim[1], 's', 'o', 'f')
  return c[1] == 'running' and c[2] == owner and c[3] == claim[2]
end

return each_queue(5, tonumber(ARGV[4]), function(P, first, last)
  local meta = call('HMGET', P .. 'meta', 't', 'o', 'bk', 'bn', 'bw')
  local now, range = time_of(P, false, meta), {meta[3], meta[4], meta[5]}
  local answers, order, deleted = {}, {}, 0
  local ids, streams, rows, fences_used, seen = {}, {}, {}, {}, {}
  local slow, asking, claims = {}, {}, nil
  local loans, claimed = match(ARGV[first], '^(%d+)/(%d+)$')
  local at = first + 1
  for _ = 1, tonumber(claimed) do
    claims = claims or {}
    claims[tonumber(ARGV[at])] = {ARGV[at + 1], ARGV[at + 2]}
    at = at + 3
  end
  for _ = 1, tonumber(loans) do
    local fence, owner, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
    at = at + 3
    local own = {}
    for n = 1, count do own[n] = ARGV[at + 2 * n - 2] end
    local is_mine = owner_of(P, fence) == owner
    local fences, records = fetch(P .. 'l', own), fetch(P .. 'm', own)
    local mine = 0
    for n, id in ipairs(own) do
      local record, answer = records[n], 1
      local claim = claims and claims[#answers + 1]
      if claim and fences[n] == fence and not has_claim(P, owner, claim) then
        answer = 2
      elseif is_mine and fences[n] == fence and record and not seen[id] then
        seen[id] = true
        mine = mine + 1
        deleted = deleted + 1
        ids[deleted] = id
        local mark, level, place = read(record)
        if not level then
          -- Its record was overwritten by hand while it was run: it is done anyway.
          record = readable(P, id, record) or 'x5' .. num(raw_time()) .. '|0|'
          mark, level, place = read(record)
        end
        if level then
          local entries = streams[level]
          if not entries then
            entries = {}
            streams[level] = entries
          end
          entries[#entries + 1] = place .. '-0'
        end
        local result = ARGV[at + 2 * n - 1]
        local asked = find(record, ASKS, 1, true)
        rows[2 * deleted - 1], rows[2 * deleted] = id, as_finished('C', asked and sub(record, 1, asked - 1) or record, result)
        if mark == 'x' then slow[#slow + 1] = {id, result, record} end
        if asked then
          local n = #asking
          asking[n + 1], asking[n + 2], asking[n + 3], asking[n + 4] = id, record, result, #answers + 1
        end
      elseif fences[n] and not seen[id] then
        answer = 2
      else
        answer = 3
      end
      answers[#answers + 1] = answer
      order[#answers] = id
    end
    if mine > 0 then fences_used[#fences_used + 1] = {fence, mine} end
    at = at + 2 * count
  end
  if deleted > 0 then
    -- A key of another kind where one of ours should be must be found before anything is changed: reading it is an error.
    -- The others were read above.
    width_of(P, range[3] or '')
    for _, one in ipairs(fences_used) do one[3] = call('HGET', P .. 'n', one[1]) end
    call('HLEN', P .. 'done:' .. bucket_at(P, now))
    for level in pairs(streams) do call('XLEN', P .. 's' .. level) end
    for _, one in ipairs(slow) do
      one.scope = call('HGET', P .. 'x:' .. one[1], 'k')
      if one.scope then call('HLEN', P .. 'k:' .. one.scope) end
    end
    if #asking > 0 then check_announcements(P) end
    local next_at, silent, given, _ = at, {}, {}, nil
    while next_at <= last do
      local queue = tonumber(ARGV[next_at + 1])
      if queue == 0 then
        call('HLEN', P .. 'outbox')
        next_at = next_at + 3
      elseif queue < 0 then
        silent[tonumber(ARGV[next_at])] = true
        next_at = next_at + 3
      else
        local group = given[queue] or {places = {}, ids = {}}
        given[queue] = group
        _, _, next_at = entries_at(next_at + 3, tonumber(ARGV[next_at + 2]), group.places, group.ids)
      end
    end
    for queue, group in pairs(given) do
      check_entries(KEYS[queue], group.places, group.ids)
      check_queue(KEYS[queue])
      finished(KEYS[queue], now, group.ids)
    end
    -- First something that frees memory: Redis refuses a script whose first write could need more than there is. And of these
    -- the one whose key was not read yet: where it is of another kind, nothing was changed.
    many('ZREM', P .. 'd', ids)
    many('HDEL', P .. 'l', ids)
    many('HDEL', P .. 'm', ids)
    for level, entries in pairs(streams) do many('XDEL', P .. 's' .. level, entries) end
    for _, one in ipairs(fences_used) do give_up(P, one[1], one[2], one[3]) end
    keep_finished(P, now, rows, 'C', ids, range)
    local plain = {}
    for n = 1, #asking, 4 do
      local id, record, result = asking[n], asking[n + 1], asking[n + 2]
      if not silent[asking[n + 3]] then
        if sub(record, 1, 1) == 'x' or #result > RESULT_LIMIT or not find(record, ASKS .. '0|[', 1, true) then
          announce(P, id, record, 'C', result)
        else
          local last = #plain
          plain[last + 1], plain[last + 2], plain[last + 3] = id, record, result
        end
      end
    end
    if #plain > 0 then announce_together(P, plain, 1) end
    for _, one in ipairs(slow) do
      local id, result = one[1], one[2]
      end_claim(P, id, one.scope, 'finish', result)
      outlive(P, id, 'r')
    end
  end
  -- Of all that were acked together, what one queue gets is stored in one step.
  local handed = {}
  while at <= last do
    local which, queue, count = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    if queue <= 0 then
      if queue == 0 and answers[which] == 1 then call('HSET', P .. 'outbox', order[which], ARGV[at + 2]) end
      at = at + 3
    else
      local group = handed[queue] or {places = {}, ids = {}}
      if answers[which] == 1 then handed[queue] = group else group = {places = {}, ids = {}} end
      local _, _, next_at = entries_at(at + 3, count, group.places, group.ids)
      at = next_at
    end
  end
  for queue, group in pairs(handed) do store(KEYS[queue], group.places, group.ids, true) end
  if deleted == #answers then return deleted end
  return answers
end)
