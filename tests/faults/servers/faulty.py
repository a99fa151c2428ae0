"""The misbehaving server: `python -m tests.faults.servers.faulty '{"era": …, "journal": …, …}'`."""

from __future__ import annotations

import json
import sys

from tests.faults.servers import call_faults, end_faults, start_faults
from tests.faults.servers.conversation import Server, tool


def main() -> None:
    options = json.loads(sys.argv[1])
    server = Server(options["era"], options["journal"])
    is_faulty = server.life <= options.get("lives", sys.maxsize)
    if (call := options.get("call")) and is_faulty:
        server.calls["fault"] = call_faults.named(call)
    for name, fault in options.get("tools", {}).items():
        server.tools.append(tool(name))
        server.calls[name] = call_faults.named(fault)
    if end := options.get("end"):
        end_faults.named(end)(server)
    if (start := options.get("start")) and is_faulty:
        start_faults.named(start)(server)
    server.serve()


if __name__ == "__main__":
    main()
