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

from mcp_workbench.downstream.listing import RESOURCES, TEMPLATES, Kind, is_deep
from mcp_workbench.downstream.offer import members_of
from mcp_workbench.errors import CallError
from mcp_workbench.protocol import INTERNAL_ERROR, INVALID_PARAMS
from mcp_workbench.surface import results
from mcp_workbench.surface.fetches import Fetch, Read
from mcp_workbench.surface.names import Place, is_uri, is_wrapped, wrap_name, wrap_uri
from mcp_workbench.surface.rendering import rendered
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.surface.routing import route_prompt, route_resource
from mcp_workbench.wire.message import ABSENT, decode_text, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_workbench.downstream.caller import Caller
    from mcp_workbench.downstream.listing import Entries
    from mcp_workbench.downstream.offer import Capability
    from mcp_workbench.surface.bridge import Bridge
    from mcp_workbench.surface.calls import Calls
    from mcp_workbench.surface.requests import Params, Room
    from mcp_workbench.surface.subscriptions import Subscriptions
    from mcp_workbench.wire.message import Body, Id
    from mcp_workbench.workbench.desk import Desk
    from mcp_workbench.workbench.shelf import Shelf

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
        _List(Kind("prompts", "prompts/list", "prompts"), "prompts", "name", wrap_name),
    )
}


class Asked(msgspec.Struct, frozen=True):
    """A request of the client's."""

    id: Id
    method: str
    caller: Caller
    params: Params
    members: Members
    """The same, each as it came."""


class SharedLists:
    """Answers one client."""

    def __init__(
        self, desk: Desk, calls: Calls, bridge: Bridge, subscriptions: Subscriptions, room: Room
    ) -> None:
        self._desk = desk
        self._subscriptions = subscriptions
        self._room = room
        self._calls = calls
        self._bridge = bridge

    def takes(self, method: str, caller: Caller) -> bool:
        """Whether a request is one of these."""
        return method in (self._HANDLERS if caller.is_modern else self._LEGACY_HANDLERS)

    def handle(self, request_id: Id, method: str, params: Params, raw: msgspec.Raw, caller: Caller) -> None:
        """Takes such a request. Raises Refusal."""
        try:
            self._calls.require_room()
        except CallError as error:
            raise Refusal(INTERNAL_ERROR, f"Internal error: {error}") from None
        self._LEGACY_HANDLERS[method](self, Asked(request_id, method, caller, params, members_of(raw)))

    def _list(self, asked: Asked) -> None:
        if asked.params.cursor is not None:
            raise Refusal(INVALID_PARAMS, "Invalid params: unknown cursor; the list has one page")
        self._calls.work(asked.id, partial(self._list_all, LISTS[asked.method], asked.caller), asked.caller)

    async def _list_all(self, listed: _List, caller: Caller) -> tuple[Body, ...]:
        async with self._desk.joint_lists.place(self._desk.principal.name):
            return await self._collect(listed, caller)

    async def _collect(self, listed: _List, caller: Caller) -> tuple[Body, ...]:
        # While the client does not read, the servers are not listened to.
        await self._room.wait()
        shelves = self._desk.offering(listed.capability)
        deadlines = [self._desk.toolboxes[shelf.origin[0]].open_deadline for shelf in shelves]
        asked = zip(shelves, deadlines, strict=True)
        modern = caller.is_modern
        lists = await asyncio.gather(
            *(shelf.entries(listed.kind, deadline, modern=modern) for shelf, deadline in asked)
        )
        count = sum(map(len, lists))
        joined = await rendered(self._desk, self._room, count, lambda: _joined(listed, shelves, lists))
        caching = b"," + results.UNCACHED if caller.is_modern else b""
        return b'{"%b":[' % listed.kind.member.encode(), joined, b"]%b}" % caching

    def _read(self, asked: Asked) -> None:
        """A URI of ours goes to its server. Any other goes to the server that has sent it to this client; if
        none has, to the only one of those that are running that lists it or has a template for it.
        """
        from mcp_workbench.surface.raw_uris import emitter  # noqa: PLC0415 - few clients read

        uri = _text(asked.members, "uri")
        is_modern = asked.caller.is_modern
        if is_wrapped(uri):
            shelf, own = route_resource(self._desk, uri, is_modern=is_modern)
            self._read_from(asked, shelf, own)
        elif not is_uri(uri):
            raise Refusal(INVALID_PARAMS, "Invalid params: `uri` must be a URI", {"uri": uri})
        elif (sender := emitter(self._desk, uri, is_modern=is_modern)) is not None:
            self._read_from(asked, sender, uri)
        else:
            self._calls.start_after(asked.id, partial(self._find_and_read, asked, uri))

    async def _find_and_read(self, asked: Asked, uri: str) -> None:
        from mcp_workbench.surface.raw_uris import find_lister  # noqa: PLC0415 - few clients read

        self._read_from(asked, await find_lister(self._desk, uri, is_modern=asked.caller.is_modern), uri)

    def _read_from(self, asked: Asked, shelf: Shelf, own: str) -> None:
        read = Read(
            *(asked.caller, self._calls, asked.id, shelf, own, _arguments(asked.members, uri=own)),
            asked.params.meta,
            method=asked.method,
            capability="resources",
            uri=_text(asked.members, "uri"),
        )
        self._start(asked, read)

    def _get_prompt(self, asked: Asked) -> None:
        shelf, own = route_prompt(self._desk, _text(asked.members, "name"))
        self._fetch(asked, shelf, own, "prompts", _arguments(asked.members, name=own))

    def _complete(self, asked: Asked) -> None:
        reference = members_of(asked.members.get("ref", ABSENT))
        match decode_text(reference.get("type", ABSENT)):
            case "ref/prompt":
                key = "name"
                shelf, own = route_prompt(self._desk, _text(reference, key))
            case "ref/resource":
                key = "uri"
                # A template is not read, so that it is no resource which is not found.
                shelf, own = route_resource(self._desk, _text(reference, key), is_modern=True)
            case _:
                raise Refusal(INVALID_PARAMS, "Invalid params: `ref` must be a ref/prompt or a ref/resource")
        arguments = _arguments(asked.members, ref=reference | {key: own})
        self._fetch(asked, shelf, own, "completions", arguments)

    def _fetch(self, asked: Asked, shelf: Shelf, own: str, capability: Capability, arguments: bytes) -> None:
        fetch = Fetch(
            *(asked.caller, self._calls, asked.id, shelf, own, arguments, asked.params.meta),
            method=asked.method,
            capability=capability,
        )
        self._start(asked, fetch)

    def _subscribe(self, asked: Asked) -> None:
        uri = _text(asked.members, "uri")

        async def subscribe() -> tuple[bytes, ...]:
            await self._subscriptions.subscribe(uri)
            return (b"{}",)

        self._calls.work(asked.id, subscribe, asked.caller)

    def _unsubscribe(self, asked: Asked) -> None:
        uri = _text(asked.members, "uri")

        async def unsubscribe() -> tuple[bytes, ...]:
            # Not sooner: the subscription may have come in the same breath, and begins in its own task.
            self._subscriptions.unsubscribe(uri)
            return (b"{}",)

        self._calls.work(asked.id, unsubscribe, asked.caller)

    def _start(self, asked: Asked, fetch: Fetch) -> None:
        extra: tuple[bytes, ...] | None = ()
        params = asked.params
        if asked.caller.is_modern and (params.state or params.responses):
            extra = self._bridge.retry(self._calls, asked.id, asked.caller, params, fetch.bound())
        if extra is not None:
            fetch.extra = extra
            self._calls.start(fetch)

    _HANDLERS: ClassVar[dict[str, Callable[[SharedLists, Asked], None]]] = {
        **dict.fromkeys(LISTS, _list),
        "resources/read": _read,
        "prompts/get": _get_prompt,
        "completion/complete": _complete,
    }
    _LEGACY_HANDLERS: ClassVar[dict[str, Callable[[SharedLists, Asked], None]]] = {
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


def _joined(listed: _List, shelves: Sequence[Shelf], lists: Sequence[Entries]) -> bytes:
    """The entries of all servers under our names."""
    entries: list[bytes] = []
    for shelf, own in zip(shelves, lists, strict=True):
        named = [entry for entry in (_renamed(listed, shelf, entry) for entry in own) if entry]
        if left_out := len(own) - len(named):
            note = "left out %d of its %s: without a usable `%s`, or nested too deeply"
            label = {"server": "/".join(shelf.origin)}
            log.warning(note, left_out, listed.kind.noun, listed.key, extra=label)
        entries += named
    return b",".join(entries)


def _renamed(listed: _List, shelf: Shelf, entry: msgspec.Raw) -> bytes | None:
    """An entry as it came, under our name; None if it cannot be had by one."""
    members = members_of(entry)
    name = decode_text(members.get(listed.key, ABSENT))
    if not name or is_deep(entry):
        return None
    return encode({**members, listed.key: listed.wrap(Place(*shelf.origin, name))})
