"""`tenure submit`, and waiting for a result."""
