"""The runtime: takes messages through the path, batches in and batches out.

`intake` leases, `admission` claims and lets in, `heartbeat` holds, `handling` runs one message, `settling` seals
and settles, `bus` reports. `worker` puts them together; `sweeper` returns what others left behind.
"""
