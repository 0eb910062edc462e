"""Simulation: what a lease policy would do to a workload, without waiting for it.

The real worker, with its intake, heartbeat, settling and sweeper, runs on the in-memory broker in virtual time; nothing
of it is modelled a second time. The invented part is the `Scenario`: how long runs take, when workers die, which
deletes fail. Read on at `running.py`. Shown by `tenure simulate`.
"""
