"""Alerting: what Tenure itself judges, for people without a monitoring stack. Pure.

    reading.py     what is known of a store at one moment
    signals/       what each alert of the catalogue measures in a reading
    detector.py    an alert with what measures it; more of them in `monitoring/detectors`
    thresholds.py  levels changed by the setting TENURE_ALERTS
    finding.py     what is kept of one alert and subject: since when, its value, who has seen it, whether it is silenced
    judging.py     one finding: pending, firing, cleared
    evaluation.py  all of them: grace after a start, inhibition, what has changed

Readings are made by `client/alert_reading.py`. `runtime/alerting.py` evaluates them, in one process at a time.
"""
