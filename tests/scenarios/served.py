"""The app that worker processes of the scenarios serve: `python -m tenure worker scenarios.served:app`."""

from tenure import Tenure

from .tasks import register

app = Tenure()
register(app)
