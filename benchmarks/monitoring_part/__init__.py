"""What monitoring costs a worker."""
