"""Metrics: the figures of one process, as samples, and how they are written and served.

    collect    a worker or a server makes samples of its aggregate; nothing is counted a second time
    merge      the samples of several processes become those of one
    derive     quantiles and ratios of the last five minutes
    render     Prometheus text or OpenMetrics

The names are those of `catalogue/metrics.py`.
"""
