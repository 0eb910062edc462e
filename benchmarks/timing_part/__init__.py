"""What learning costs: a sample, a lease, and a worker that does both."""
