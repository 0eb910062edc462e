-- Nack, give back or dead letter. ARGV: for each queue (each.lua), for each message how ('back' or 'dead'), id, fence, owner, delay in microseconds,
-- attempts used, reason or '', ending or ''. Returns 1 (done), 2 (taken over) or 3 (already gone) for each.
return each_queue(4, #KEYS - 1, function(P, first, last)
  local now = time_of(P, true)
  local answers, standing, seen, soonest = {}, {}, {}, nil
  check_queue(P)
  for at = first, last, 8 do
    local id, fence = ARGV[at + 1], ARGV[at + 2]
    local current = call('HGET', P .. 'l', id)
    local record = readable(P, id, call('HGET', P .. 'm', id))
    local _, level, place = read(record)
    local answer = current and not seen[id] and 2 or 3
    if answer == 2 and current == fence and level and owner_of(P, fence) == ARGV[at + 3] then
      seen[id], answer = true, 1
      local x = check_message(P, id, level)
      if ARGV[at] == 'dead' and asks(record) then check_announcements(P) end
      standing[#standing + 1] = {at, record, level, place, x}
    end
    answers[#answers + 1] = answer
  end
  for _, one in ipairs(standing) do
    local at, record, level, place, x = unpack(one)
    local how, id, fence = ARGV[at], ARGV[at + 1], ARGV[at + 2]
    local delay, attempts, reason, story = tonumber(ARGV[at + 4]), ARGV[at + 5], ARGV[at + 6], ARGV[at + 7]
    local key = P .. 'x:' .. id
    record = special(P, id, record, 1)
    unlend(P, id, fence)
    if attempts ~= '0' then raise(key, 'a', attempts) end
    if story ~= '' then remember(P, id, story) end
    if how == 'dead' then
      bury(P, id, record, reason)
    else
      if reason ~= '' then call('HSET', key, 'r', reason) end
      end_claim(P, id, x[1], 'release')
      let_wait(P, id, level, place, delay > 0 and now + delay, x[2])
      soonest = math.min(soonest or LONGEST, delay)
    end
  end
  if soonest then
    list_due(P, soonest)
    call('PUBLISH', P .. 'wake', '')
  end
  return answers
end)
