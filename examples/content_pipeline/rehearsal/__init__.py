"""Runs the pipeline as a trial: real worker processes, kills, and a count of what readers got."""
