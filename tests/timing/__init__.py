"""The arithmetic of leases and workers alone: pure, no I/O."""
