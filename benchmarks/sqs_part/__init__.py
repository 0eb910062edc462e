"""The part on SQS: requests, prices and CPU."""
