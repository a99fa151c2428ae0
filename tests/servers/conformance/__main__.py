"""Runs the server over stdio."""

from __future__ import annotations

from tests.servers.conformance import plain_tools  # isort: skip # first in the list: tools without arguments
from tests.servers.conformance import asking_tools, contents
from tests.servers.conformance.offer import server

__all__ = ["asking_tools", "contents", "plain_tools"]

if __name__ == "__main__":
    server.run()
