-- A limited queue gets tokens back, if it has any, or those who wait for the end of a lease are woken. ARGV: how many tokens, '1'
-- to wake.
local P, count = KEYS[1], tonumber(ARGV[4])
if count > 0 then
  local there = tonumber(call('HGET', P .. 'meta', 'lt') or '')
  if there and there >= -1 then call('HSET', P .. 'meta', 'lt', tostring(there + count)) end
end
if ARGV[5] == '1' then call('PUBLISH', P .. 'wake', '') end
return 1
