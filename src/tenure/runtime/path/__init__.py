"""The path of a message: batches in, batches out, one at a time only where its handler runs."""
