"""`tenure worker`, and what only it needs."""
