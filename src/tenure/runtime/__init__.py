"""The runtime: takes messages through the path, batches in and batches out.

`intake` leases, `admission` claims and admits, `heartbeat` holds, `handling` runs one message, `outbox` seals and
settles, `bus` publishes. `worker` puts them together; `sweeper` returns what dead workers held.
"""
