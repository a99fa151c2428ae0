"""Finds the server for a resource or prompt name of ours, and says so if there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.errors import CallError
from mcp_workbench.protocol.names import INVALID_PARAMS, RESOURCE_NOT_FOUND
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.surface.resources.names import SCHEME, unwrap_name, unwrap_uri

if TYPE_CHECKING:
    from mcp_workbench.surface.resources.names import QualifiedName
    from mcp_workbench.workbench.client_view import ClientView
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

FORM: Final = "<toolbox>/<server>/"


class ServerMissing(Refusal):
    """A request is refused because the server that its name contains does not exist."""

    def __init__(self, refusal: Refusal, qualified: QualifiedName, error: CallError) -> None:
        super().__init__(refusal.code, refusal.message, refusal.data)
        self.qualified = qualified
        self.error = error


def route_resource(view: ClientView, uri: str, *, is_modern: bool) -> tuple[ToolboxServer, str]:
    """Return the server of a resource, and its own URI for it. Raises Refusal."""
    qualified = unwrap_uri(uri)
    if qualified is None:
        reason = f"Resource '{uri}' not found: its URI is not of the form {SCHEME}{FORM}<URI>"
        raise not_found(reason, uri, is_modern=is_modern)
    try:
        return view.toolbox_server(qualified.toolbox, qualified.server), qualified.name
    except CallError as error:
        refusal = not_found(str(error), uri, is_modern=is_modern)
        raise ServerMissing(refusal, qualified, error) from None


def route_prompt(view: ClientView, name: str) -> tuple[ToolboxServer, str]:
    """Return the server of a prompt, and its own name for it. Raises Refusal."""
    qualified = unwrap_name(name)
    if qualified is None:
        reason = f"Prompt '{name}' not found: its name is not of the form {FORM}<name>"
        raise Refusal(INVALID_PARAMS, reason)
    try:
        return view.toolbox_server(qualified.toolbox, qualified.server), qualified.name
    except CallError as error:
        raise ServerMissing(Refusal(INVALID_PARAMS, str(error)), qualified, error) from None


def not_found(reason: str, uri: str, *, is_modern: bool) -> Refusal:
    """Return the refusal for a resource that does not exist, with the error code of the protocol version."""
    return Refusal(INVALID_PARAMS if is_modern else RESOURCE_NOT_FOUND, reason, {"uri": uri})
