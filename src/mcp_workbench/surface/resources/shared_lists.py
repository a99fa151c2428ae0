"""What the servers have beyond tools: resources, prompts and completions, as one client asks for them.

The lists of all servers that are open are one list. Whatever is asked for by a name of ours goes to the
server that the name tells, which is connected first if need be. Owns how requests are routed; while they are
in flight they are `fetches`.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from mcp_workbench.errors import CallError
from mcp_workbench.protocol.lists import PROMPTS, RESOURCES, TEMPLATES, Kind, is_deep
from mcp_workbench.protocol.names import INTERNAL_ERROR, INVALID_PARAMS
from mcp_workbench.surface.listing.rendering import rendered
from mcp_workbench.surface.questions.bridge import NO_RETRY
from mcp_workbench.surface.relay import stamping
from mcp_workbench.surface.relay.fetches import ResourceRead, ServerFetch
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.surface.resources.names import Place, is_uri, is_wrapped, wrap_name, wrap_uri
from mcp_workbench.surface.resources.routing import route_prompt, route_resource
from mcp_workbench.wire.message import ABSENT, decode_text, encode, members_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_workbench.downstream.conversation.offer import Capability
    from mcp_workbench.protocol.caller import Caller
    from mcp_workbench.protocol.lists import Entries
    from mcp_workbench.surface.questions.bridge import Bridge, Retry
    from mcp_workbench.surface.relay.in_flight import RequestsInFlight
    from mcp_workbench.surface.requests import Backpressure, RequestParams
    from mcp_workbench.surface.resources.subscriptions import Subscriptions
    from mcp_workbench.wire.message import Body, Id
    from mcp_workbench.workbench.client_view import ClientView
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

    Members = dict[str, msgspec.Raw]

OF_ONE_HOP: Final = ("_meta", "inputResponses", "requestState")
"""Parameters that are made anew for the server."""

log = logging.getLogger(__name__)


class _List(msgspec.Struct, frozen=True):
    """One of the lists of all servers together."""

    kind: Kind
    capability: Capability
    key: str
    """The member of an entry that it is known by."""
    wrap: Callable[[Place], str]
    """Makes the name that is ours of the server's."""


LISTS: Final = {
    listed.kind.method: listed
    for listed in (
        _List(RESOURCES, "resources", "uri", wrap_uri),
        _List(TEMPLATES, "resources", "uriTemplate", wrap_uri),
        _List(PROMPTS, "prompts", "name", wrap_name),
    )
}


class ClientRequest(msgspec.Struct, frozen=True):
    """A request of the client's."""

    id: Id
    method: str
    caller: Caller
    params: RequestParams
    members: Members
    """The same, each as it came."""


class SharedLists:
    """Answers one client."""

    def __init__(
        self,
        view: ClientView,
        requests: RequestsInFlight,
        bridge: Bridge,
        subscriptions: Subscriptions,
        backpressure: Backpressure,
    ) -> None:
        self._view = view
        self._subscriptions = subscriptions
        self._backpressure = backpressure
        self._requests = requests
        self._bridge = bridge

    def takes(self, method: str, caller: Caller) -> bool:
        """Whether a request is one of these."""
        return method in (self._HANDLERS if caller.is_modern else self._LEGACY_HANDLERS)

    def handle(
        self, request_id: Id, method: str, params: RequestParams, raw: msgspec.Raw, caller: Caller
    ) -> None:
        """Takes such a request. Raises Refusal."""
        try:
            self._requests.check_limit()
        except CallError as error:
            raise Refusal(INTERNAL_ERROR, f"Internal error: {error}") from None
        self._LEGACY_HANDLERS[method](
            self, ClientRequest(request_id, method, caller, params, members_of(raw))
        )

    def _list(self, asked: ClientRequest) -> None:
        if asked.params.cursor is not None:
            raise Refusal(INVALID_PARAMS, "Invalid params: unknown cursor; the list has one page")
        self._requests.answer_later(
            asked.id, partial(self._list_all, LISTS[asked.method], asked.caller), asked.caller
        )

    async def _list_all(self, listed: _List, caller: Caller) -> tuple[Body, ...]:
        async with self._view.joint_lists.place(self._view.principal.name):
            return await self._collect(listed, caller)

    async def _collect(self, listed: _List, caller: Caller) -> tuple[Body, ...]:
        # While the client does not read, the servers are not listened to.
        await self._backpressure.wait()
        toolbox_servers = self._view.offering(listed.capability)
        deadlines = [
            self._view.toolboxes[toolbox_server.origin[0]].open_deadline for toolbox_server in toolbox_servers
        ]
        asked = zip(toolbox_servers, deadlines, strict=True)
        modern = caller.is_modern
        lists = await asyncio.gather(
            *(
                toolbox_server.entries(listed.kind, deadline, modern=modern)
                for toolbox_server, deadline in asked
            )
        )
        count = sum(map(len, lists))
        joined = await rendered(
            self._view, self._backpressure, count, lambda: _joined(listed, toolbox_servers, lists)
        )
        caching = b"," + stamping.UNCACHED if caller.is_modern else b""
        return b'{"%b":[' % listed.kind.member.encode(), joined, b"]%b}" % caching

    def _read(self, asked: ClientRequest) -> None:
        """A URI of ours goes to its server. Any other goes to the server that has sent it to this client; if
        none has, to the only one of those that are running that lists it or has a template for it.
        """
        from mcp_workbench.surface.resources.raw_uris import emitter  # noqa: PLC0415 - few clients read

        uri = _text(asked.members, "uri")
        is_modern = asked.caller.is_modern
        if is_wrapped(uri):
            toolbox_server, own = route_resource(self._view, uri, is_modern=is_modern)
            self._read_from(asked, toolbox_server, own)
        elif not is_uri(uri):
            raise Refusal(INVALID_PARAMS, "Invalid params: `uri` must be a URI", {"uri": uri})
        elif (sender := emitter(self._view, uri, is_modern=is_modern)) is not None:
            self._read_from(asked, sender, uri)
        else:
            self._requests.start_after(asked.id, partial(self._find_and_read, asked, uri))

    async def _find_and_read(self, asked: ClientRequest, uri: str) -> None:
        from mcp_workbench.surface.resources.raw_uris import find_lister  # noqa: PLC0415 - few clients read

        self._read_from(asked, await find_lister(self._view, uri, is_modern=asked.caller.is_modern), uri)

    def _read_from(self, asked: ClientRequest, toolbox_server: ToolboxServer, own: str) -> None:
        read = ResourceRead(
            *(asked.caller, self._view, toolbox_server, own, _arguments(asked.members, uri=own)),
            *(asked.params.meta, self._requests, asked.id),
            method=asked.method,
            capability="resources",
            uri=_text(asked.members, "uri"),
        )
        self._start(asked, read)

    def _get_prompt(self, asked: ClientRequest) -> None:
        toolbox_server, own = route_prompt(self._view, _text(asked.members, "name"))
        self._fetch(asked, toolbox_server, own, "prompts", _arguments(asked.members, name=own))

    def _complete(self, asked: ClientRequest) -> None:
        reference = members_of(asked.members.get("ref", ABSENT))
        match decode_text(reference.get("type", ABSENT)):
            case "ref/prompt":
                key = "name"
                toolbox_server, own = route_prompt(self._view, _text(reference, key))
            case "ref/resource":
                key = "uri"
                # A template is not read, so that it is no resource which is not found.
                toolbox_server, own = route_resource(self._view, _text(reference, key), is_modern=True)
            case _:
                raise Refusal(INVALID_PARAMS, "Invalid params: `ref` must be a ref/prompt or a ref/resource")
        arguments = _arguments(asked.members, ref=reference | {key: own})
        self._fetch(asked, toolbox_server, own, "completions", arguments)

    def _fetch(
        self,
        asked: ClientRequest,
        toolbox_server: ToolboxServer,
        own: str,
        capability: Capability,
        arguments: bytes,
    ) -> None:
        fetch = ServerFetch(
            *(asked.caller, self._view, toolbox_server, own, arguments, asked.params.meta),
            *(self._requests, asked.id),
            method=asked.method,
            capability=capability,
        )
        self._start(asked, fetch)

    def _subscribe(self, asked: ClientRequest) -> None:
        uri = _text(asked.members, "uri")

        async def subscribe() -> tuple[bytes, ...]:
            await self._subscriptions.subscribe(uri)
            return (b"{}",)

        self._requests.answer_later(asked.id, subscribe, asked.caller)

    def _unsubscribe(self, asked: ClientRequest) -> None:
        uri = _text(asked.members, "uri")

        async def unsubscribe() -> tuple[bytes, ...]:
            # Not sooner: the subscription may have come in the same breath, and begins in its own task.
            self._subscriptions.unsubscribe(uri)
            return (b"{}",)

        self._requests.answer_later(asked.id, unsubscribe, asked.caller)

    def _start(self, asked: ClientRequest, fetch: ServerFetch) -> None:
        retry: Retry | None = NO_RETRY
        params = asked.params
        if asked.caller.is_modern and (params.state or params.responses):
            retry = self._bridge.retry(self._requests, asked.id, asked.caller, params, fetch.bound())
        if retry is not None:
            fetch.extra, fetch.parent = retry.extra, retry.parent
            self._requests.begin(fetch)

    _HANDLERS: ClassVar[dict[str, Callable[[SharedLists, ClientRequest], None]]] = {
        **dict.fromkeys(LISTS, _list),
        "resources/read": _read,
        "prompts/get": _get_prompt,
        "completion/complete": _complete,
    }
    _LEGACY_HANDLERS: ClassVar[dict[str, Callable[[SharedLists, ClientRequest], None]]] = {
        **_HANDLERS,
        "resources/subscribe": _subscribe,
        "resources/unsubscribe": _unsubscribe,
    }


def _text(members: Members, key: str) -> str:
    text = decode_text(members.get(key, ABSENT))
    if text is None:
        raise Refusal(INVALID_PARAMS, f"Invalid params: `{key}` must be a string")
    return text


def _arguments(members: Members, **own: object) -> bytes:
    """Parameters for the server, with what is its own in place of what is ours."""
    kept: dict[str, object] = {key: value for key, value in members.items() if key not in OF_ONE_HOP}
    return encode(kept | own)


def _joined(listed: _List, toolbox_servers: Sequence[ToolboxServer], lists: Sequence[Entries]) -> bytes:
    """The entries of all servers under our names."""
    entries: list[bytes] = []
    for toolbox_server, own in zip(toolbox_servers, lists, strict=True):
        named = [entry for entry in (_renamed(listed, toolbox_server, entry) for entry in own) if entry]
        if left_out := len(own) - len(named):
            note = "left out %d of its %s: without a usable `%s`, or nested too deeply"
            label = {"server": "/".join(toolbox_server.origin)}
            log.warning(note, left_out, listed.kind.noun, listed.key, extra=label)
        entries += named
    return b",".join(entries)


def _renamed(listed: _List, toolbox_server: ToolboxServer, entry: msgspec.Raw) -> bytes | None:
    """An entry as it came, under our name; None if it cannot be had by one."""
    members = members_of(entry)
    name = decode_text(members.get(listed.key, ABSENT))
    if not name or is_deep(entry):
        return None
    return encode({**members, listed.key: listed.wrap(Place(*toolbox_server.origin, name))})
