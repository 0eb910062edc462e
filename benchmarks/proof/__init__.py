"""Proof on the reader's machine: `make proof-speed` and `make proof-faults`."""
