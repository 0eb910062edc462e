"""The part on Azure Storage Queues: requests, prices and CPU."""
