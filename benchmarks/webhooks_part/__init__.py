"""What announcing costs, and how fast webhooks are delivered."""
