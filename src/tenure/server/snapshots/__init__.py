"""Snapshots: what a store looks like now, made once for all viewers of a server, and only while somebody looks.

snapshots.py       reads the store at the interval of the broker's trait, for GETs and streams together
parts.py           what viewers get: overview, queues, leases; small enough to be sent each second
lease_changes.py   what changed in the leases between two snapshots
ticks.py           snapshots as messages of an event stream
entity_tag.py      the ETag of a snapshot: by what it says, not by when
routes.py          GET /snapshots/overview, /snapshots/queues, /snapshots/leases
"""
