"""A program that imports again and again, and is killed at another step each time.

    python -m tests.setup.importing.killed_import DIRECTORY

Prints one JSON object: after each kill, which secrets the configuration refers to and the store lacks, and
what the configuration has once the import was run again.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from mcp_workbench.config.source.references import secret_names_in
from mcp_workbench.setup.importing.plan import execute
from tests.setup.importing.homes import CURSOR, NPX_GITHUB, Home
from tests.setup.killed_at import KILLED, Killer

STRIDE = 11
"""Steps between two kills: each file that is written takes more of them, and is tested on its own."""


def new_home(directory: Path) -> Home:
    home = Home(directory)
    home.write(".cursor/mcp.json", {"mcpServers": {**CURSOR["mcpServers"], "github": NPX_GITHUB}})
    return home


def main(directory: Path) -> None:
    outcomes = []
    # Then every module is loaded, and only the steps of the import itself are counted.
    new_home(directory / "first").run()
    step, code = 0, KILLED
    while code == KILLED:
        home = new_home(directory / str(step))
        plan = home.plan()
        child = os.fork()
        if child == 0:
            sys.setprofile(Killer(step))
            execute(plan, home.environ, home.store)
            sys.setprofile(None)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        stored = home.store.places()
        referred = secret_names_in(home.written) if home.config.exists() else set()
        home.run()
        outcomes.append([sorted(referred - stored.keys()), home.written])
        step += STRIDE
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
