"""Every claim about speed and memory, measured. Run with `make bench`."""
