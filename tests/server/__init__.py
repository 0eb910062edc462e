"""The server: in process on virtual time where the wire does not matter, as real processes where it does."""
