"""What the environment says about the pipeline."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Read once, by `app.py`."""

    #: Pages, releases of the site and the catalogue are in here.
    folder: Path
    #: Where readers find the site: the feed needs whole addresses.
    site_url: str
    #: The webhook endpoint that is told of each build. None: nothing is.
    webhook: str | None
    #: A language model that summarises, behind an API like OpenAI's. None: sentences are picked from the text.
    model: str | None
    api_key: str
    base_url: str
    #: Set by a rehearsal: the file in which every run is noted.
    run_log: Path | None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Read the variables that the README lists."""
        api_key = environment.get("OPENAI_API_KEY", "")
        run_log = environment.get("PIPELINE_RUN_LOG")
        return cls(
            folder=Path(environment.get("PIPELINE_FOLDER", "content-pipeline")),
            site_url=environment.get("PIPELINE_SITE_URL", "https://news.example.org").rstrip("/"),
            webhook=environment.get("PIPELINE_WEBHOOK") or None,
            model=environment.get("PIPELINE_MODEL") if api_key else None,
            api_key=api_key,
            base_url=environment.get("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/"),
            run_log=Path(run_log) if run_log else None,
        )
