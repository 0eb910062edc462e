"""One module of the runtime, or of what users touch, at a time; virtual time, no sleeps."""
