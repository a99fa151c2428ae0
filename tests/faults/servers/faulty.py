"""The misbehaving server: `python -m tests.faults.servers.faulty '{"era": …, "journal": …, …}'`."""

from __future__ import annotations

import json
import sys

from tests.faults.servers import call_faults, end_faults, start_faults
from tests.faults.servers.conversation import Server, tool


def main() -> None:
    options = json.loads(sys.argv[1])
    server = Server(options["era"], options["journal"])
    if "call" in options:
        server.calls["fault"] = call_faults.named(options["call"])
    for name, fault in options.get("tools", {}).items():
        server.tools.append(tool(name))
        server.calls[name] = call_faults.named(fault)
    if "start" in options and server.life <= options.get("lives", sys.maxsize):
        start_faults.named(options["start"])(server)
    if "end" in options:
        end_faults.named(options["end"])(server)
    server.serve()


if __name__ == "__main__":
    main()
