"""Finding the server that a name of ours leads to, and saying so if it leads nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.errors import CallError
from mcp_workbench.protocol.names import INVALID_PARAMS, RESOURCE_NOT_FOUND
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.surface.resources.names import SCHEME, unwrap_name, unwrap_uri

if TYPE_CHECKING:
    from mcp_workbench.workbench.client_view import ClientView
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

FORM: Final = "<toolbox>/<server>/"


def route_resource(view: ClientView, uri: str, *, is_modern: bool) -> tuple[ToolboxServer, str]:
    """The place of the server that has a resource, and its own URI for it. Raises Refusal."""
    place = unwrap_uri(uri)
    if place is None:
        reason = f"Resource '{uri}' not found: its URI is not of the form {SCHEME}{FORM}<URI>"
        raise not_found(reason, uri, is_modern=is_modern)
    try:
        return view.toolbox_server(place.toolbox, place.server), place.name
    except CallError as error:
        raise not_found(str(error), uri, is_modern=is_modern) from None


def route_prompt(view: ClientView, name: str) -> tuple[ToolboxServer, str]:
    """The place of the server that has a prompt, and its own name for it. Raises Refusal."""
    place = unwrap_name(name)
    if place is None:
        reason = f"Prompt '{name}' not found: its name is not of the form {FORM}<name>"
        raise Refusal(INVALID_PARAMS, reason)
    try:
        return view.toolbox_server(place.toolbox, place.server), place.name
    except CallError as error:
        raise Refusal(INVALID_PARAMS, str(error)) from None


def not_found(reason: str, uri: str, *, is_modern: bool) -> Refusal:
    """What a client is told of a resource that does not exist, by its era."""
    return Refusal(INVALID_PARAMS if is_modern else RESOURCE_NOT_FOUND, reason, {"uri": uri})
