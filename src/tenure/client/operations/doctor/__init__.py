"""Doctor: compares the configuration with reality, one small file for each kind of thing.

    operations.py   `app.operate.doctor()`: runs every check, and puts the answers together
    diagnosis.py    what it answers
    facts.py        what several checks need, read once
    storing.py serving.py versions.py timing.py tokens.py endpoints.py settings.py …   the checks

How the service behind the broker is set up is examined by its adapter (`broker.Examinable`).
"""
