-- Send to queues. ARGV: 'lenient' (what is refused goes to the dead letters) or ''; then for each queue (each.lua) count, entries.
-- Returns for each the answers; or how many there are, if all are new.
return each_queue(5, #KEYS - 1, function(P, at)
  local answers, all_new = store(P, at + 1, tonumber(ARGV[at]), ARGV[4] == 'lenient')
  if all_new then return #answers end
  return answers
end)
