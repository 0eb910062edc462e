"""The client: sends messages and reads a store from outside a worker."""
