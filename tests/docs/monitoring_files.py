"""Writes the files of deploy/monitoring anew that are queries, alerts and dashboards: `make reference` runs it."""

import shutil
from collections.abc import Iterator

from tenure.monitoring.catalogue.spec import AlertSpec
from tenure.monitoring.detectors import EVERY
from tenure.monitoring.render import TARGETS, RenderedFile, rendered

from .markdown import ROOT

FOLDER = ROOT / "deploy" / "monitoring"


def specs() -> list[AlertSpec]:
    """Tenure's own alerts that are on by default."""
    return [one.spec for one in EVERY if one.spec.is_on]


def files() -> Iterator[tuple[str, RenderedFile]]:
    """Every file, with its target, which is its folder."""
    for target in TARGETS:
        for one in rendered(target, specs()):
            yield target, one


if __name__ == "__main__":
    for target in TARGETS:
        shutil.rmtree(FOLDER / target, ignore_errors=True)
    for target, one in files():
        path = FOLDER / target / one.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(one.text, encoding="utf-8")
