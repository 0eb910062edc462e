-- The limit, taken off the arguments before lease.lua reads them.
local RATE = tonumber(table.remove(ARGV))
local RUNNING = tonumber(table.remove(ARGV))
