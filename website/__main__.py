"""`python -m website`: build the site, or say what is wrong and end with 1."""

import argparse
import sys
from pathlib import Path

from website.build import Broken, build

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Build the site."""
    asked = argparse.ArgumentParser(prog="make docs")
    asked.add_argument("--base", default="/", help="where a web server will have it, such as /tenure/")
    asked.add_argument("--into", type=Path, default=ROOT / "build" / "docs", help="the folder, which is replaced")
    options = asked.parse_args()
    try:
        built = build(ROOT, options.into, base=options.base)
    except Broken as broken:
        for problem in broken.problems:
            print(problem, file=sys.stderr)  # noqa: T201 - a program for people
        print(f"{len(broken.problems)} problems; {options.into} is as it was.", file=sys.stderr)  # noqa: T201
        return 1
    size = sum(file.stat().st_size for file in options.into.rglob("*") if file.is_file())
    print(f"{built} pages, {size / 1e6:.1f} MB: open {options.into / 'index.html'}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
