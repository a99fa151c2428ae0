"""Finds the server for a URI that names none: the server that sent it, or the only one that lists it.

A link in a result must not lead to another server than the one that sent it: that server could read through
the client what it cannot read itself. And no server is shown a URI that it has neither sent nor lists.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.protocol.lists import RESOURCES, TEMPLATES
from mcp_workbench.protocol.names import INVALID_PARAMS
from mcp_workbench.surface.relay.links import MAX_URI_BYTES
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.surface.resources.names import SCHEME, QualifiedName, wrap_uri
from mcp_workbench.surface.resources.routing import FORM, not_found
from mcp_workbench.surface.resources.uri_templates import TemplateMatcher

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_workbench.config import Origin
    from mcp_workbench.protocol.lists import Entries
    from mcp_workbench.workbench.client_view import ClientView
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

MAX_TEMPLATES: Final = 1000
"""Templates of one server that a URI is compared with."""
HOW_TO_NAME_SERVER: Final = f"Name the server that it is to be read from: {SCHEME}{FORM}<URI>"


class _Resource(msgspec.Struct):
    uri: str


class _Template(msgspec.Struct):
    template: str = msgspec.field(name="uriTemplate")


_decode_resource = msgspec.json.Decoder(_Resource).decode
_decode_template = msgspec.json.Decoder(_Template).decode


def emitter(view: ClientView, uri: str, *, is_modern: bool) -> ToolboxServer | None:
    """Return the server that has sent this URI to the client; None if none has. Raises Refusal."""
    if len(uri.encode(errors="surrogatepass")) > MAX_URI_BYTES:
        raise Refusal(
            INVALID_PARAMS, f"Invalid params: `uri` is too long to be looked for. {HOW_TO_NAME_SERVER}"
        )
    origins = view.emitted.origins(uri)
    if not origins:
        return None
    if len(origins) > 1:
        raise _ambiguous(uri, "several servers have sent it", origins)
    (origin,) = origins
    if (toolbox_server := view.toolbox_servers.get(origin)) is None:
        toolbox, server = origin
        gone = f"it was sent by server '{server}' (toolbox '{toolbox}'), which is no longer available"
        raise not_found(f"Resource '{uri}' not found: {gone}", uri, is_modern=is_modern)
    return toolbox_server


async def find_lister(view: ClientView, uri: str, *, is_modern: bool) -> ToolboxServer:
    """Return the only running server that lists a URI or has a template for it. Raises Refusal."""
    async with view.listing_turn:
        running = [toolbox_server for toolbox_server in view.offering("resources") if toolbox_server.is_up]
        lists = await asyncio.gather(*(_lists(view, toolbox_server) for toolbox_server in running))
        matcher = TemplateMatcher(uri)
        candidates: list[ToolboxServer] = []
        for toolbox_server, (resources, templates) in zip(running, lists, strict=True):
            # Let other tasks run between two servers: each may have a hundred thousand entries.
            await asyncio.sleep(0)
            if _is_listed(uri, resources) or _has_template(matcher, templates):
                candidates.append(toolbox_server)
    # The configuration may have changed meanwhile, and with it the toolboxes of this client.
    candidates = [
        toolbox_server
        for toolbox_server in candidates
        if view.toolbox_servers.get(toolbox_server.origin) is toolbox_server
    ]
    if not candidates:
        reason = "no server has sent it in a result, and no running one lists it or has a template for it"
        raise not_found(
            f"Resource '{uri}' not found: {reason}. {HOW_TO_NAME_SERVER}", uri, is_modern=is_modern
        )
    if len(candidates) > 1:
        raise _ambiguous(
            uri, "several servers have it", [toolbox_server.origin for toolbox_server in candidates]
        )
    (toolbox_server,) = candidates
    if others := view.emitted.incomplete - {toolbox_server.origin}:
        names = ", ".join(sorted(f"'{server}' (toolbox '{toolbox}')" for toolbox, server in others))
        reason = f"it may have been sent by server {names}, which has sent more URIs than are remembered"
        raise _ambiguous(uri, reason, [toolbox_server.origin])
    return toolbox_server


async def _lists(view: ClientView, toolbox_server: ToolboxServer) -> tuple[Entries, Entries]:
    deadline = view.toolboxes[toolbox_server.origin[0]].open_deadline
    # Over the open connection: the other protocol version would start a second one.
    modern = toolbox_server.serves_modern
    resources, templates = await asyncio.gather(
        toolbox_server.entries(RESOURCES, deadline, modern=modern),
        toolbox_server.entries(TEMPLATES, deadline, modern=modern),
    )
    return resources, templates


def _is_listed(uri: str, resources: Entries) -> bool:
    for entry in resources:
        try:
            if _decode_resource(entry).uri == uri:
                return True
        except (msgspec.DecodeError, RecursionError):
            continue  # an unreadable entry does not hide the others
    return False


def _has_template(matcher: TemplateMatcher, templates: Entries) -> bool:
    for entry in templates[:MAX_TEMPLATES]:
        try:
            if matcher.matches(_decode_template(entry).template):
                return True
        except (msgspec.DecodeError, RecursionError):
            continue  # an unreadable entry does not hide the others
    return False


def _ambiguous(uri: str, reason: str, origins: Iterable[Origin]) -> Refusal:
    choices = ", ".join(wrap_uri(QualifiedName(*origin, uri)) for origin in origins)
    message = f"Invalid params: where to read '{uri}' from is not clear: {reason}. Read it as {choices}"
    return Refusal(INVALID_PARAMS, message, {"uri": uri})
