"""`python -m soak`: runs the soak, prints its figures, and says whether anything is wrong."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from soak.report import report
from soak.run import WorkbenchEnded, soak

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what the command line asks for."""
    if not sys.platform.startswith("linux"):
        print("The soak runs on Linux only: it reads what /proc says of processes.", file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="of load and faults; default: 600")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="of all that is random")
    parser.add_argument("--toolboxes", type=int, default=8, help="of three servers each; default: 8")
    options = parser.parse_args(arguments)
    print(f"A soak of {options.seconds:g} s with the seed {options.seed} ...", flush=True)
    with tempfile.TemporaryDirectory(prefix="mcp-workbench-soak-") as directory:
        try:
            outcome = asyncio.run(soak(options.seconds, options.seed, options.toolboxes, Path(directory)))
        except WorkbenchEnded as end:
            print(f"FAIL (seed {options.seed}): {end}")
            return 1
    print(f"\n{report(outcome)}\n")
    for problem in outcome.problems:
        print(f"WRONG: {problem}")
    print("FAIL" if outcome.problems else "PASS", f"(seed {options.seed})")
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
