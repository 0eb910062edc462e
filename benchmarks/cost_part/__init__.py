"""The part on what a message costs in the clouds, step by step."""
