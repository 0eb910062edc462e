"""The simulator: the real worker in virtual time, and what is told of it."""
