"""`/metrics` of the server: its own requests, what its housekeeping did, and the store as all viewers read it."""
