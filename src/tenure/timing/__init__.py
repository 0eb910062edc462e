"""Rules of time: how long a lease is, when to renew it, and when schedules tick. Pure, without I/O."""
