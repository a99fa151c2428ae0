"""`python -m soak`: runs the soak, prints its figures, and says whether anything is wrong."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from soak.report import report, report_shared
from soak.run import WorkbenchEnded, soak
from soak.shared import share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from soak.shared import Shared

SHARED_PART = 0.25
"""Of the seconds, which the part over HTTP takes in addition."""
SHARED_LEAST_SECONDS = 4.0


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
            shared = asyncio.run(_share(options.seconds, options.seed, Path(directory)))
        except WorkbenchEnded as end:
            print(f"FAIL (seed {options.seed}): {end}")
            return 1
    print(f"\n{report(outcome)}\n\n{report_shared(shared)}\n")
    problems = [*outcome.problems, *shared.problems]
    for problem in problems:
        print(f"WRONG: {problem}")
    print("FAIL" if problems else "PASS", f"(seed {options.seed})")
    return 1 if problems else 0


async def _share(seconds: float, seed: int, directory: Path) -> Shared:
    """The part in which several principals share a workbench over HTTP."""
    (home := directory / "shared").mkdir()
    return await share(
        max(seconds * SHARED_PART, SHARED_LEAST_SECONDS), random.Random(f"{seed} shared"), home
    )


if __name__ == "__main__":
    sys.exit(main())
