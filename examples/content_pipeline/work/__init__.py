"""What the services do with feeds, texts and pages. Nothing in here knows of queues."""
