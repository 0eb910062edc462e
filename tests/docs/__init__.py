"""What the documents say is run as it stands."""
