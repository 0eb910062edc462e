"""Monitoring: what Tenure tells the outside about itself, and what it takes to be wrong.

`catalogue/` describes every event, metric, label, alert and runbook as data. What emits them stands elsewhere: events
in `runtime/path` and `runtime/background`, figures in `runtime/background/statistics`.
"""
