"""The decisions that every store shares, each with its table of cases."""
