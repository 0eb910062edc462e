"""The claims about the dashboard: a real Chromium, on `tenure serve` with a filled store, or on the tests' stage."""
