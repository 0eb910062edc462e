"""Promises kept by real processes on one store, while they, or the store, are killed, frozen, starved and lied to."""
