-- Send to one queue. ARGV: 'lenient' (what is refused goes to the dead letters) or '', count, entries.
local answers, all_new = store(KEYS[1], 6, tonumber(ARGV[5]), ARGV[4] == 'lenient')
if all_new then return #answers end
return answers
