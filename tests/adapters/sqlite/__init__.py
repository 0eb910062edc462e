"""What is special to the SQLite adapter; what every adapter does is in the conformance suite."""
