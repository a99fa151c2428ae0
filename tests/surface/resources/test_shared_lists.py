"""Requests for resources, prompts and completions."""

from __future__ import annotations

from mcp_workbench.surface.client_connection import SHARED_METHODS, SUBSCRIPTION_METHODS
from mcp_workbench.surface.resources.shared_lists import SharedLists


def test_every_method_that_is_passed_on_has_a_handler_and_the_reverse() -> None:
    assert set(SharedLists.HANDLERS) == SHARED_METHODS | SUBSCRIPTION_METHODS
