"""Promises kept by real processes on one SQLite file, while they are killed, frozen, starved and lied to."""
