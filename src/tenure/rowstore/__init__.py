"""A broker and its state over a table that decides and a queue that delivers."""
