-- The limit of a queue, decided as in rules/limits.py. In meta: lt (tokens), la (when they were counted).
local GATHER, NEARLY = 0.05, 0.000001

-- The tokens that there are now.
local function tokens_of(P, now, rate)
  local burst, kept = math.max(1, rate), call('HMGET', P .. 'meta', 'lt', 'la')
  local there, at = tonumber(kept[1] or ''), stored(kept[2])
  -- Never below zero by more than rounding: what is lower was written by hand.
  if not (there and at and there >= -1) then return burst end
  return math.min(burst, there + math.max(0, now - at) / 1000000 * rate)
end

-- How many of `want` messages may be leased now, and the microseconds until one more may be: 0 for now, -1: when a lease ends.
-- `running`, `rate`: nil for no limit of that kind.
local function allowance(P, running, rate, want)
  local most = want
  if running then
    most = math.min(want, running - call('HLEN', P .. 'l'))
    if most <= 0 then return 0, -1 end
  end
  if not rate then return most, 0 end
  local there = tokens_of(P, time_of(P, false), rate)
  local needed = math.min(most, math.max(1, math.floor(rate * GATHER)))
  if there + NEARLY < needed then return 0, math.ceil((needed - there) / rate * 1000000) end
  return math.min(most, math.floor(there + NEARLY)), 0
end
