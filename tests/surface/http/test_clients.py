"""How long a client over HTTP is remembered between two requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.surface.http import clients as module
from mcp_workbench.surface.http.clients import Clients
from mcp_workbench.workbench.kept.client_results import Content
from mcp_workbench.workbench.principal import Principal
from tests.support.configs import server, toolboxes
from tests.support.kept import LIMIT, Maker
from tests.workbench.test_reconfigure import built

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ALICE = Principal("alice")


async def test_a_modern_client_is_remembered_for_as_long_as_something_is_kept_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {**toolboxes(dev={"echo": server()}), "results": {"inlineLimit": 5000}}
    clients = Clients(built(tmp_path, config), {})
    client_session = clients.client_session(ALICE)
    client_results = client_session.view.client_results
    assert client_results is not None
    client_results.keep_now([Content("res_x", b"x", "text")], Maker(), LIMIT)
    monkeypatch.setattr(module, "IDLE_SECONDS", -1.0)
    clients._end_idle()
    assert clients.client_session(ALICE) is client_session
    client_results.close()
    clients._end_idle()
    assert clients.client_session(ALICE) is not client_session
    clients.close()
