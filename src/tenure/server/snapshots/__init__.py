"""Snapshots: what a store looks like now, made once for all viewers of a server, and only while a viewer is connected.

snapshots.py       reads the store at the interval of the broker's trait, for GETs and streams together
parts.py           what viewers get: overview, queues, leases; small enough to be sent each second
lease_changes.py   what changed in the leases between two snapshots
ticks.py           snapshots as messages of an event stream
encoded_part.py    a part as JSON, made once for all who see the same
entity_tag.py      the ETag of a snapshot: by what it says, not by when
routes.py          GET /snapshots/overview, /snapshots/queues, /snapshots/leases
"""
