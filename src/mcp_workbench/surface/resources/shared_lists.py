"""Answers a client's requests for resources, prompts and completions.

A list contains the entries of all open servers. Any other request is sent to the server that its name
contains, which is connected first if needed. Owns how requests are routed; `fetches` owns them while they are
in flight.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from mcp_workbench.errors import CallError
from mcp_workbench.protocol.binding import bind
from mcp_workbench.protocol.lists import PROMPTS, RESOURCES, TEMPLATES, Kind, is_deep
from mcp_workbench.protocol.names import COMPLETION, INTERNAL_ERROR, INVALID_PARAMS
from mcp_workbench.surface.listing.rendering import rendered
from mcp_workbench.surface.questions.bridge import NO_RETRY
from mcp_workbench.surface.relay import stamping
from mcp_workbench.surface.relay.fetches import ResourceRead, ServerFetch
from mcp_workbench.surface.requests import Refusal, StateRefused
from mcp_workbench.surface.resources.names import QualifiedName, is_uri, is_wrapped, wrap_name, wrap_uri
from mcp_workbench.surface.resources.routing import ServerMissing, route_prompt, route_resource
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

PROMPT: Final = "prompts/get"
PER_HOP_PARAMS: Final = ("_meta", "inputResponses", "requestState")
"""Parameters that are not passed on: the workbench makes its own for the server."""

log = logging.getLogger(__name__)


class _List(msgspec.Struct, frozen=True):
    """A list that joins the entries of all servers."""

    kind: Kind
    capability: Capability
    key: str
    """The member that identifies an entry."""
    wrap: Callable[[QualifiedName], str]
    """Makes our name out of the server's own."""


LISTS: Final = {
    listed.kind.method: listed
    for listed in (
        _List(RESOURCES, "resources", "uri", wrap_uri),
        _List(TEMPLATES, "resources", "uriTemplate", wrap_uri),
        _List(PROMPTS, "prompts", "name", wrap_name),
    )
}


class ClientRequest(msgspec.Struct, frozen=True):
    """A request of the client, with its caller and its parameters."""

    id: Id
    method: str
    caller: Caller
    params: RequestParams
    members: Members
    """All parameters, undecoded."""


class SharedLists:
    """Answers the requests of one client for resources, prompts and completions."""

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

    def handle(
        self, request_id: Id, method: str, params: RequestParams, raw: msgspec.Raw, caller: Caller
    ) -> None:
        """Start to handle a request. Raises Refusal."""
        try:
            self._requests.check_limit()
        except CallError as error:
            raise Refusal(INTERNAL_ERROR, f"Internal error: {error}") from None
        request = ClientRequest(request_id, method, caller, params, members_of(raw))
        try:
            self.HANDLERS[method](self, request)
        except ServerMissing as missing:
            self._turn_away(request, missing)

    def _turn_away(self, request: ClientRequest, missing: ServerMissing) -> None:
        """Refuse a request for a server that does not exist, unless it answers a call that still waits.

        A server that was removed from the configuration still ends the calls that it has.
        """
        target = msgspec.structs.astuple(missing.qualified)
        arguments = _arguments(request, missing.qualified.name)
        retry = self._retry(request, target, arguments)
        if retry is not None:
            self._requests.turn_away(
                missing.error, request.method, target, arguments, request.params.meta, parent=retry.parent
            )
            raise missing

    def _list(self, request: ClientRequest) -> None:
        if request.params.cursor is not None:
            raise Refusal(INVALID_PARAMS, "Invalid params: unknown cursor; the list has one page")
        self._requests.answer_later(
            request.id, partial(self._list_all, LISTS[request.method], request.caller), request.caller
        )

    async def _list_all(self, listed: _List, caller: Caller) -> tuple[Body, ...]:
        async with self._view.joint_lists.place(self._view.principal.name):
            return await self._collect(listed, caller)

    async def _collect(self, listed: _List, caller: Caller) -> tuple[Body, ...]:
        # While the client does not read, servers are not asked for more.
        await self._backpressure.wait()
        toolbox_servers = self._view.offering(listed.capability)
        deadlines = [
            self._view.toolboxes[toolbox_server.origin[0]].open_deadline for toolbox_server in toolbox_servers
        ]
        with_deadlines = zip(toolbox_servers, deadlines, strict=True)
        modern = caller.is_modern
        lists = await asyncio.gather(
            *(
                toolbox_server.entries(listed.kind, deadline, modern=modern)
                for toolbox_server, deadline in with_deadlines
            )
        )
        count = sum(map(len, lists))
        joined = await rendered(
            self._view, self._backpressure, count, lambda: _joined(listed, toolbox_servers, lists)
        )
        caching = b"," + stamping.UNCACHED if caller.is_modern else b""
        return b'{"%b":[' % listed.kind.member.encode(), joined, b"]%b}" % caching

    def _read(self, request: ClientRequest) -> None:
        """Start to read a resource.

        A URI of ours names its server. Any other URI goes to the server that has sent it to this client, else
        to the only running server that lists it or has a template for it.
        """
        from mcp_workbench.surface.resources.raw_uris import emitter  # noqa: PLC0415 - few clients read

        uri = _text(request.members, "uri")
        is_modern = request.caller.is_modern
        if is_wrapped(uri):
            toolbox_server, own = route_resource(self._view, uri, is_modern=is_modern)
            self._read_from(request, toolbox_server, own)
        elif not is_uri(uri):
            raise Refusal(INVALID_PARAMS, "Invalid params: `uri` must be a URI", {"uri": uri})
        elif (sender := emitter(self._view, uri, is_modern=is_modern)) is not None:
            self._read_from(request, sender, uri)
        else:
            self._requests.start_after(request.id, partial(self._find_and_read, request, uri))

    async def _find_and_read(self, request: ClientRequest, uri: str) -> None:
        from mcp_workbench.surface.resources.raw_uris import find_lister  # noqa: PLC0415 - few clients read

        self._read_from(request, await find_lister(self._view, uri, is_modern=request.caller.is_modern), uri)

    def _read_from(self, request: ClientRequest, toolbox_server: ToolboxServer, own: str) -> None:
        read = ResourceRead(
            *(request.caller, self._view, toolbox_server, own, _arguments(request, own)),
            *(request.params.meta, self._requests, request.id),
            method=request.method,
            capability="resources",
            uri=_text(request.members, "uri"),
        )
        self._start(request, read)

    def _get_prompt(self, request: ClientRequest) -> None:
        toolbox_server, own = route_prompt(self._view, _text(request.members, "name"))
        self._fetch(request, toolbox_server, own, "prompts")

    def _complete(self, request: ClientRequest) -> None:
        reference = members_of(request.members.get("ref", ABSENT))
        match decode_text(reference.get("type", ABSENT)):
            case "ref/prompt":
                toolbox_server, own = route_prompt(self._view, _text(reference, "name"))
            case "ref/resource":
                # As if modern: completing a template reads no resource, so the error is "invalid params".
                toolbox_server, own = route_resource(self._view, _text(reference, "uri"), is_modern=True)
            case _:
                raise Refusal(INVALID_PARAMS, "Invalid params: `ref` must be a ref/prompt or a ref/resource")
        self._fetch(request, toolbox_server, own, "completions")

    def _fetch(
        self, request: ClientRequest, toolbox_server: ToolboxServer, own: str, capability: Capability
    ) -> None:
        fetch = ServerFetch(
            *(request.caller, self._view, toolbox_server, own, _arguments(request, own)),
            *(request.params.meta, self._requests, request.id),
            method=request.method,
            capability=capability,
        )
        self._start(request, fetch)

    def _subscribe(self, request: ClientRequest) -> None:
        uri = _text(request.members, "uri")

        async def subscribe() -> tuple[bytes, ...]:
            await self._subscriptions.subscribe(uri)
            return (b"{}",)

        self._requests.answer_later(request.id, subscribe, request.caller)

    def _unsubscribe(self, request: ClientRequest) -> None:
        uri = _text(request.members, "uri")

        async def unsubscribe() -> tuple[bytes, ...]:
            # In a task too: the subscription may have arrived just before, and begins in its own task.
            self._subscriptions.unsubscribe(uri)
            return (b"{}",)

        self._requests.answer_later(request.id, unsubscribe, request.caller)

    def _start(self, request: ClientRequest, fetch: ServerFetch) -> None:
        retry = self._retry(request, (*fetch.origin, fetch.name), fetch.arguments)
        if retry is not None:
            fetch.extra, fetch.parent, fetch.approval = retry.extra, retry.parent, retry.approval
            self._requests.begin(fetch)

    def _retry(self, request: ClientRequest, target: tuple[str, str, str], arguments: Body) -> Retry | None:
        """Return what a request carries over from an earlier one; None if it resumes a call that waits.

        `target` is the toolbox, the server and its own name. Raises Refusal.
        """
        params = request.params
        if not (request.caller.is_modern and (params.state or params.responses)):
            return NO_RETRY
        bound = bind(request.method, *target, arguments=arguments)
        try:
            return self._bridge.retry(self._requests, request.id, request.caller, params, bound)
        except StateRefused:
            self._requests.refuse_retry(request.method, target, arguments, params.meta)
            raise

    HANDLERS: ClassVar[dict[str, Callable[[SharedLists, ClientRequest], None]]] = {
        **dict.fromkeys(LISTS, _list),
        "resources/read": _read,
        PROMPT: _get_prompt,
        COMPLETION: _complete,
        "resources/subscribe": _subscribe,
        "resources/unsubscribe": _unsubscribe,
    }


def _text(members: Members, key: str) -> str:
    text = decode_text(members.get(key, ABSENT))
    if text is None:
        raise Refusal(INVALID_PARAMS, f"Invalid params: `{key}` must be a string")
    return text


def _arguments(request: ClientRequest, own: str) -> bytes:
    """Return the parameters for the server, with its own name in place of ours."""
    kept: dict[str, object] = {
        key: value for key, value in request.members.items() if key not in PER_HOP_PARAMS
    }
    if request.method == COMPLETION:
        reference = members_of(request.members.get("ref", ABSENT))
        is_prompt = decode_text(reference.get("type", ABSENT)) == "ref/prompt"
        return encode(kept | {"ref": reference | {"name" if is_prompt else "uri": own}})
    return encode(kept | {"name" if request.method == PROMPT else "uri": own})


def _joined(listed: _List, toolbox_servers: Sequence[ToolboxServer], lists: Sequence[Entries]) -> bytes:
    """Join the entries of all servers, under our names."""
    entries: list[bytes] = []
    for toolbox_server, own in zip(toolbox_servers, lists, strict=True):
        usable = [entry for entry in (_renamed(listed, toolbox_server, entry) for entry in own) if entry]
        if omitted := len(own) - len(usable):
            note = "left out %d of its %s: without a usable `%s`, or nested too deeply"
            label = {"server": "/".join(toolbox_server.origin)}
            log.warning(note, omitted, listed.kind.noun, listed.key, extra=label)
        entries += usable
    return b",".join(entries)


def _renamed(listed: _List, toolbox_server: ToolboxServer, entry: msgspec.Raw) -> bytes | None:
    """Return an entry under our name; None if its name is unusable or it is nested too deeply."""
    members = members_of(entry)
    name = decode_text(members.get(listed.key, ABSENT))
    if not name or is_deep(entry):
        return None
    return encode({**members, listed.key: listed.wrap(QualifiedName(*toolbox_server.origin, name))})
