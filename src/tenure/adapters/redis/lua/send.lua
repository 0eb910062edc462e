-- Send to queues. ARGV: 'lenient' (what is refused goes to the dead letters) or ''; then for each queue (each.lua) count, entries;
-- the count is "<count>/<most>" where a message is refused if so many wait.
-- Returns for each the answers; or how many there are, if all are new.
return each_queue(5, #KEYS - 1, function(P, at)
  local count, most = tonumber(ARGV[at]), nil
  if not count then
    local both, limit = match(ARGV[at], '^(%d+)/(%d+)$')
    count, most = tonumber(both), tonumber(limit)
  end
  local places, ids = entries_at(at + 1, count)
  local answers, all_new = store(P, places, ids, ARGV[4] == 'lenient', most)
  if all_new then return #answers end
  return answers
end)
