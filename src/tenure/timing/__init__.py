"""How long a lease is, and when to renew it: pure, without I/O."""
