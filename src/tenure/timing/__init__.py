"""How long a lease is and when to renew it, and when schedules tick: pure, without I/O."""
