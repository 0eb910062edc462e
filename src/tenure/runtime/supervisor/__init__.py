"""The parent of several worker processes, and the protocol between a worker and its parent."""
