-- Put the copy of the journal in its place (erasing.py). ARGV: the place up to which it is copied; the pages behind it are copied here.
-- Nothing is changed if there is no copy up to there: another one was begun meanwhile.
local KEY, COPY = G .. 'journal', G .. 'journal:copy'
local top = call('XREVRANGE', COPY, '+', '-', 'COUNT', 1)[1]
local place = top and match(top[1], '^%d+') or '0'
if place ~= ARGV[4] then return 0 end
for _, page in ipairs(call('XRANGE', KEY, '(' .. place .. '-0', '+')) do call('XADD', COPY, page[1], unpack(page[2])) end
if call('EXISTS', COPY) == 1 then call('RENAME', COPY, KEY) end
return 1
