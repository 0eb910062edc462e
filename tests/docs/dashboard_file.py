"""Makes deploy/monitoring/grafana/tenure.json anew: `python -m tests.docs.dashboard_file`, by `make reference`."""

from pathlib import Path

from tenure.monitoring.grafana import dashboard

FILE = Path(__file__).parents[2] / "deploy" / "monitoring" / "grafana" / "tenure.json"

if __name__ == "__main__":
    FILE.write_text(dashboard(), encoding="utf-8")
