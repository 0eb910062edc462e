"""The pipeline as it was before: each message hidden for 600 s, deleted, and hoped for."""
