"""What consumers over HTTP and clients with queues of their own cost."""
