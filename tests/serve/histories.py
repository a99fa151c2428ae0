"""A workbench in memory between several clients and two servers, to which anything can happen in any order.

One server is legacy and asks by requests of its own, the other is modern and asks by `input_required`.
Clients are legacy, modern on one connection, or modern with a connection for each request, as over HTTP. A
decider lets calls pass, refuses or holds them, and a policy has users asked about them. An observer keeps how
calls began and ended, and the model keeps what clients were told, so that both can be compared.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal
from unittest import mock

import msgspec

from mcp_workbench.config import InlineConfig, Secrets, ServerConfig
from mcp_workbench.config.load import LoadedConfig
from mcp_workbench.config.model.policy import LimitsConfig, PolicyConfig
from mcp_workbench.config.model.workbench import ToolboxConfig, WorkbenchConfig
from mcp_workbench.config.source.reading import Stamp
from mcp_workbench.downstream.connection import Connection
from mcp_workbench.downstream.conversation.offer import Offer
from mcp_workbench.downstream.server import Server
from mcp_workbench.errors import CallRefused, StartError
from mcp_workbench.fairness import Shares
from mcp_workbench.library.log_masking import MaskingHandler
from mcp_workbench.serve.audit.call_audit import CallAudit
from mcp_workbench.surface.client_connection import ClientConnection
from mcp_workbench.surface.client_session import ClientSession
from mcp_workbench.surface.http.clients import BACKPRESSURE
from mcp_workbench.surface.output import SingleOutput
from mcp_workbench.surface.questions.parking import ParkedCalls
from mcp_workbench.surface.questions.sealing import Seal
from mcp_workbench.workbench.client_view import ClientView
from mcp_workbench.workbench.door import CallDecision, Door
from mcp_workbench.workbench.policy.approvals import Approvals
from mcp_workbench.workbench.policy.approver import refused
from mcp_workbench.workbench.policy.limits import CallLimiter
from mcp_workbench.workbench.principal import ANYONE
from mcp_workbench.workbench.registry import ToolboxRegistry, build
from tests.serve.relayed import written

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from mcp_workbench.downstream.supervisor import ServerContext
    from mcp_workbench.wire.message import Outgoing
    from mcp_workbench.workbench.door import CallEnd, CallRecord
    from mcp_workbench.workbench.policy.approver import UserAnswer
    from mcp_workbench.workbench.principal import Principal
    from mcp_workbench.workbench.server_call import ServerCall
    from mcp_workbench.workbench.toolbox_server import ToolboxServer
    from tests.support.client import Json

ClientKind = Literal["legacy", "modern", "modern over HTTP"]
Policy = Literal["pass", "hold", "refuse", "fail", "ask"]

RESERVED: Final = "io.modelcontextprotocol/"
META: Final = {
    RESERVED + "protocolVersion": "2026-07-28",
    RESERVED + "clientCapabilities": {"elicitation": {"form": {}, "url": {}}},
    RESERVED + "clientInfo": {"name": "modern-client", "version": "1"},
}
FORM: Final = {"message": "which?", "requestedSchema": {"type": "object", "properties": {}}}
INLINE_LIMIT: Final = 2000
TIMEOUT, INPUT_TIMEOUT = 5.0, 10.0
LONGEST_SECONDS: Final = 400.0
"""Time after which no call can be in flight any more, whatever it waits for."""

LINKS: Final = [{"type": "resource_link", "uri": f"test://{number}", "name": "x"} for number in range(400)]
RESULTS: Final[dict[str, Json]] = {
    "plain": {"content": [{"type": "text", "text": "hello"}]},
    "error": {"content": [{"type": "text", "text": "no"}], "isError": True},
    "long": {"content": [{"type": "text", "text": "~" * 3000}]},
    "links": {"content": LINKS},
}
"""Results of tools. Those that are long are kept, and links are looked for beside other calls."""
SAID: Final[dict[str, Json]] = {
    "accept": {"action": "accept", "content": {}},
    "session": {"action": "accept", "content": {"allow": "session"}},
    "decline": {"action": "decline"},
    "nonsense": {"action": ["accept"], "content": 5},
}
"""Answers of users. Any other word is an error of their client, where the protocol has one."""
ERRORS: Final[dict[str, Json]] = {
    "refused": {"code": -32000, "message": "no"},
    "invalid": {"code": -32602, "message": "no"},
    "visit": {
        "code": -32042,
        "message": "go there first",
        "data": {"elicitations": [{"mode": "url", "url": "https://a.example", "elicitationId": "1"}]},
    },
}


class Notes:
    """An observer that keeps every beginning and every end."""

    def __init__(self) -> None:
        self.begun: list[CallRecord] = []
        self.ends: Counter[int] = Counter()
        """How often each call ended, by its number."""

    def on_begin(self, record: CallRecord) -> None:
        self.begun.append(record)

    def on_end(self, record: CallRecord, end: CallEnd) -> None:
        assert record.end is end
        self.ends[record.number] += 1

    @property
    def open(self) -> list[CallRecord]:
        return [record for record in self.begun if record.end is None]


class Gatekeeper:
    """A decider that does as it was last told."""

    def __init__(self) -> None:
        self.policy: Policy = "pass"
        self.holds: list[asyncio.Future[None]] = []

    def decide(self, record: CallRecord) -> Awaitable[None] | None:
        match self.policy:
            case "pass" | "ask":
                return None
            case "refuse":
                raise refusal(record)
            case "fail":
                raise KeyError("a fault of the decider")
        hold: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.holds.append(hold)
        return hold

    @property
    def waiting(self) -> list[asyncio.Future[None]]:
        return [hold for hold in self.holds if not hold.done()]


class AskingPolicy:
    """A policy that asks the user about every call, while the gatekeeper is told so."""

    on_end = None

    def confirm(self, record: CallRecord, call: ServerCall) -> None: ...

    def __init__(self, gatekeeper: Gatekeeper) -> None:
        self._gatekeeper = gatekeeper
        self._approvals = Approvals(NoTerminal(), Shares())

    def shown(self, toolbox_server: ToolboxServer, principal: Principal) -> ToolboxServer:  # noqa: ARG002 - all
        return toolbox_server

    def decide(self, record: CallRecord, call: ServerCall) -> Awaitable[None] | None:
        if self._gatekeeper.policy != "ask":
            return None
        record.decision = decision = CallDecision("ask", '"*": "ask"')
        return self._approvals.ask(record, call, decision)


class NoTerminal:
    """A terminal in which nobody answers, for clients that cannot ask."""

    async def ask(self, call: ServerCall, rule: str, lines: list[str], why: str) -> UserAnswer:
        raise refused(call, f"{why}, by {rule}: {lines}")


class Limiting:
    """A decider and observer that counts calls as the limits of a policy do."""

    def __init__(self) -> None:
        self._limiter = CallLimiter()
        self.limit_to(1_000_000)

    def limit_to(self, calls: int) -> None:
        """Allow so many calls in flight from now on."""
        policy = PolicyConfig(limits=LimitsConfig(calls_in_flight=calls))
        self._limiter.adopt(WorkbenchConfig(toolboxes={}, policy=policy))

    def decide(self, record: CallRecord) -> None:
        self._limiter.begin(record, ANYONE, None, continues=record.parent is not None)

    def on_end(self, record: CallRecord, end: CallEnd) -> None:
        self._limiter.on_end(record, end)


def refusal(record: CallRecord) -> CallRefused:
    return CallRefused(record.name, record.origin[1], record.origin[0], "not today")


class Downstream(Server):
    """A server whose starts, answers and ends are in the test's hands."""

    is_modern: bool

    def __init__(
        self, toolbox: str, name: str, config: ServerConfig, secrets: Secrets, context: ServerContext
    ) -> None:
        super().__init__(toolbox, name, config, secrets, context)
        self.is_modern = name == "new"
        self._start: asyncio.Future[None] | None = None
        self.written: list[Outgoing] = []
        self.got: list[Json] = []
        """Requests that have no answer yet."""
        self.waiting = 0

    async def connect(self, *, modern: bool) -> Connection:
        self._users += 1
        try:
            while (connection := self.connections[modern]) is None:
                if self._start is None:
                    self._start = asyncio.get_running_loop().create_future()
                await asyncio.shield(self._start)
            return connection
        finally:
            self._users -= 1

    @property
    def in_use(self) -> bool:
        is_busy = any(connection.session.peer.is_busy for connection in self.up)
        return is_busy or self._users > 0 or self.waiting_calls.calls > 0

    def begin_to_close(self) -> tuple[asyncio.Task[None], ...]:
        self.fail_to_start()
        self.die("it was closed")
        return super().begin_to_close()

    def come_up(self) -> None:
        if self.up:
            return
        connection = Connection(
            ("dev", self.name), self, str, self.config, self._context.listeners, shares=self._context.shares
        )
        connection.listed = (msgspec.Raw(b'{"name":"read"}'),)
        offer = Offer(prompts=True, resources=True)
        if self.is_modern:
            connection.session.speak_modern(offer)
        else:
            connection.session.speak_legacy(offer)
        self.connections = [connection, connection]
        self.offer = offer
        self._end_start(None)

    def fail_to_start(self) -> None:
        self._end_start(StartError(self.name, "it does not start"))

    def _end_start(self, error: StartError | None) -> None:
        start, self._start = self._start, None
        if start is None:
            return
        if error is None:
            start.set_result(None)
        else:
            start.set_exception(error)
            start.exception()  # seen: whoever waited may have gone

    def die(self, reason: str = "it died", *, unread: bool = False) -> None:
        """End, perhaps before anything was read of the calls in flight."""
        ended, self.connections = self.up, [None, None]
        self.hear()
        lines = [json.dumps(message).encode() for message in self.got] if unread else []
        self.got.clear()
        for connection in ended:
            connection.on_unwritten(b"\n".join(lines))
            connection.close(reason)

    def say(self, message: Json) -> None:
        self.say_raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def say_raw(self, line: bytes) -> None:
        for connection in self.up:
            connection.receive(line)

    def hear(self) -> None:
        """Read what was sent, and answer pings."""
        lines, self.written[:] = self.written[:], []
        for message in (json.loads(written(line)) for line in lines):
            method, request_id = message.get("method"), message.get("id")
            if method in ("ping", "server/discover"):
                self.say({"id": request_id, "result": {}})
            elif method == "notifications/cancelled":
                cancelled = message["params"]["requestId"]
                self.got = [it for it in self.got if it["id"] != cancelled]
            elif method is not None and request_id is not None:
                self.got.append(message)

    def take(self, at: int) -> Json | None:
        """One of the requests that have no answer, which gets one now."""
        self.hear()
        return self.got.pop(at % len(self.got)) if self.got else None

    # The channel of its connection.

    def write(self, line: Outgoing) -> None:
        self.written.append(line)

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def give_up(self, reason: str) -> None:
        self.die(reason)


@dataclass
class Sent:
    """A request of a client that is in flight."""

    connection: ClientConnection
    method: str
    params: Json
    record: CallRecord | None = None
    """The record of the call that the request began or went on with, if it did."""


@dataclass
class Told:
    """What a client was told of a call, or what it has done to it."""

    record: CallRecord
    what: Literal["answered", "failed", "cancelled", "client_gone"]

    @property
    def is_true(self) -> bool:
        outcome = None if self.record.end is None else self.record.end.outcome
        if self.what == "failed":
            return outcome in ("failed", "refused", "timed_out", "tool_error")
        return outcome == self.what


@dataclass
class Client:
    """One client, and what it knows."""

    kind: ClientKind
    client_session: ClientSession
    notes: Notes
    in_flight: dict[int, Sent] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    questions: list[Json] = field(default_factory=list)
    """Requests of a legacy server that the client has not answered."""
    asked: list[tuple[Sent, Json]] = field(default_factory=list)
    """Requests that were answered with a question, and these results."""
    handles: list[str] = field(default_factory=list)
    numbers: count[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.connection = self._open()
        if self.kind == "legacy":
            hello = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"elicitation": {"form": {}, "url": {}}},
                "clientInfo": {"name": "legacy-client", "version": "1"},
            }
            self._write(self.connection, {"id": 0, "method": "initialize", "params": hello})

    def request(self, method: str, params: Json) -> Sent:
        if self.kind != "legacy":
            params = {**params, "_meta": META}
        connection = self._open() if self.kind == "modern over HTTP" else self.connection
        number = next(self.numbers)
        self.in_flight[number] = sent = Sent(connection, method, params)
        before = len(self.notes.begun)
        self._write(connection, {"id": number, "method": method, "params": params})
        (sent.record,) = self.notes.begun[before:] or (None,)
        return sent

    def cancel(self, number: int) -> None:
        sent = self.in_flight.pop(number)
        is_over = sent.record is None or sent.record.end is not None
        if self.kind == "modern over HTTP":
            sent.connection.close()
        else:
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": number}}
            self._write(sent.connection, cancelled)
        if sent.record is not None and not is_over:
            is_http = self.kind == "modern over HTTP"
            self.told.append(Told(sent.record, "client_gone" if is_http else "cancelled"))

    def answer(self, at: int, what: str) -> None:
        """Answer a question, as it is done in the client's protocol version."""
        said = SAID.get(what, {})
        if self.questions:
            question = self.questions.pop(at % len(self.questions))
            error = {"code": -32000, "message": "nobody is there"}
            answer = {"error": error} if what == "error" else {"result": said}
            self._write(self.connection, {"id": question["id"], **answer})
        elif self.asked:
            sent, result = self.asked.pop(at % len(self.asked))
            answers = dict.fromkeys(result.get("inputRequests", {}), said)
            params = {**sent.params, "requestState": result["requestState"], "inputResponses": answers}
            retry = self.request(sent.method, params)
            if retry.record is None:
                end = None if sent.record is None else sent.record.end
                # The call has waited, or waits no more. One that was asked about goes on as another call,
                # which does not begin if its server is gone.
                retry.record = None if end is not None and end.outcome == "asked" else sent.record
            else:
                assert sent.record is not None
                assert retry.record.parent == sent.record.number
                assert sent.record.end is not None
                assert sent.record.end.outcome == "asked"

    def leave(self) -> None:
        left = [sent.record for sent in self.in_flight.values() if sent.record is not None]
        self.told += [Told(record, "client_gone") for record in left if record.end is None]
        for connection in {self.connection, *(sent.connection for sent in self.in_flight.values())}:
            connection.close()
        self.in_flight.clear()

    def _open(self) -> ClientConnection:
        return ClientConnection(self.client_session, SingleOutput(self._take), BACKPRESSURE)

    def _write(self, connection: ClientConnection, message: Json) -> None:
        connection.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def _take(self, line: Outgoing) -> None:
        message = json.loads(written(line))
        if message.get("method") == "elicitation/create":
            self.questions.append(message)
        elif message.get("method") == "notifications/cancelled":
            taken_back = message["params"]["requestId"]
            self.questions = [it for it in self.questions if it["id"] != taken_back]
        elif "method" not in message and message["id"]:
            # Later: a call may be answered before its request was seen to begin it.
            asyncio.get_running_loop().call_soon(self._take_answer, message)

    def _take_answer(self, message: Json) -> None:
        sent = self.in_flight.pop(message["id"], None)
        if sent is None:
            return  # it was cancelled at this moment
        if self.kind == "modern over HTTP":
            sent.connection.close()
        result: Json = message.get("result", {})
        if result.get("resultType") == "input_required":
            self.asked.append((sent, result))
            return
        texts = [block.get("text", "") for block in result.get("content", ())]
        self.handles += [text.partition("handle ")[2].split()[0] for text in texts if "handle " in text]
        is_failure = "error" in message or result.get("isError", False)
        is_late = "requestState" in sent.params and "error" in message  # the retry itself may be refused
        if sent.record is not None and not is_late:
            self.told.append(Told(sent.record, "failed" if is_failure else "answered"))


class House:
    """The workbench, its clients and its servers."""

    def __init__(self, kinds: list[ClientKind], home: Path, *, asks: bool = False) -> None:
        self.notes = Notes()
        self.gatekeeper = Gatekeeper()
        self.limiting = Limiting()
        self.servers: list[Downstream] = []
        self._kinds = kinds
        self._here: dict[int, Client] = {}
        self.clients: list[Client] = []
        """All clients that were ever there."""
        self._parking = ParkedCalls()
        self._questions = count(1)
        door = Door([self.limiting, self.gatekeeper], [self.notes, self.limiting])
        if asks:
            door.adopt(AskingPolicy(self.gatekeeper))
        self.audit = CallAudit(door, {"XDG_DATA_HOME": str(home)}, MaskingHandler())
        self.audit.set_level("metadata")
        with self._servers_in_memory():
            self.workbench: ToolboxRegistry = build(
                configured("a"), environ={}, cache="/nonexistent", door=door
            )

    def _servers_in_memory(self) -> Any:
        def make(*given: Any) -> Downstream:
            self.servers.append(Downstream(*given))
            return self.servers[-1]

        return mock.patch("mcp_workbench.workbench.registry.Server", make)

    def client(self, at: int) -> Client:
        place = at % len(self._kinds)
        if place not in self._here:
            client_session = ClientSession(ClientView(self.workbench), self._parking, Seal({}))
            self._here[place] = Client(self._kinds[place], client_session, self.notes)
            self.clients.append(self._here[place])
        return self._here[place]

    # What clients do.

    def call(self, at: int, what: str) -> None:
        client = self.client(at)
        server = "new" if at % 2 else "old"
        match what:
            case "tool":
                client.request("tools/call", use("dev", server, "read"))
            case "no tool":
                client.request("tools/call", use("dev", server, "nothing"))
            case "no server":
                client.request("tools/call", use("dev", "nobody", "read"))
            case "built-in":
                arguments = {"handle": client.handles[-1] if client.handles else "h"}
                client.request("tools/call", use("workbench", "results", "read_result", arguments))
            case "read":
                client.request("resources/read", {"uri": f"workbench:dev/{server}/test://one"})
            case "prompt":
                client.request("prompts/get", {"name": f"dev/{server}/one"})
            case "complete":
                reference = {"type": "ref/prompt", "name": f"dev/{server}/one"}
                client.request("completion/complete", {"ref": reference, "argument": {}})

    def cancel(self, at: int) -> None:
        found = [(client, number) for client in self._here.values() for number in client.in_flight]
        if found:
            client, number = found[at % len(found)]
            client.cancel(number)

    def answer(self, at: int, what: str) -> None:
        found = [client for client in self._here.values() if client.questions or client.asked]
        if found:
            found[at % len(found)].answer(at, what)

    def leave(self, at: int) -> None:
        if (client := self._here.pop(at % len(self._kinds), None)) is not None:
            client.leave()

    # What servers do.

    def start(self, at: int) -> None:
        self.servers[at % len(self.servers)].come_up()

    def fail_to_start(self, at: int) -> None:
        self.servers[at % len(self.servers)].fail_to_start()

    def finish(self, at: int, what: str) -> None:
        for server in self._busy(at):
            request = server.take(at)
            assert request is not None
            if what in ERRORS:
                server.say({"id": request["id"], "error": ERRORS[what]})
            elif what == "garbage":
                server.say_raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":' % request["id"])
            elif what == "no object":
                server.say({"id": request["id"], "result": 5})
            elif what == "odd type":
                server.say({"id": request["id"], "result": {"resultType": "odd", "content": []}})
            else:
                server.say({"id": request["id"], "result": RESULTS[what]})

    def ask(self, at: int) -> None:
        for server in self._busy(at):
            if not server.is_modern:
                name = f"question {next(self._questions)}"
                server.say({"id": name, "method": "elicitation/create", "params": FORM})
                continue
            request = server.take(at)
            assert request is not None
            question = {"q": {"method": "elicitation/create", "params": FORM}} if at % 3 else {}
            required = {"resultType": "input_required", "inputRequests": question, "requestState": "s"}
            server.say({"id": request["id"], "result": required})

    def die(self, at: int) -> None:
        for server in self._up(at):
            server.die()

    def die_unread(self, at: int) -> None:
        for server in self._up(at):
            server.die(unread=True)

    def _up(self, at: int) -> list[Downstream]:
        found = [server for server in self.servers if server.up]
        return [found[at % len(found)]] if found else []

    def _busy(self, at: int) -> list[Downstream]:
        for server in self.servers:
            server.hear()
        found = [server for server in self.servers if server.up and server.got]
        return [found[at % len(found)]] if found else []

    # What those who run the workbench do.

    def reload(self, what: str) -> None:
        with self._servers_in_memory():
            self.workbench.reconfigure(configured(what))
        for client in self._here.values():
            client.client_session.view.refresh()
            client.client_session.refresh()

    def decide(self, policy: Policy) -> None:
        self.gatekeeper.policy = policy

    def release(self, at: int, how: str) -> None:
        if not (waiting := self.gatekeeper.waiting):
            return
        hold = waiting[at % len(waiting)]
        match how:
            case "pass":
                hold.set_result(None)
            case "refuse":
                hold.set_exception(CallRefused("read", "old", "dev", "not today"))
            case "fail":
                hold.set_exception(KeyError("a fault of the decider"))
            case "cancel":
                hold.cancel()

    async def wait(self, seconds: float) -> None:
        """Let time pass, in which the servers go on answering pings."""
        while seconds > 0:
            await asyncio.sleep(1.0)
            seconds -= 1.0
            for server in self.servers:
                server.hear()

    async def settle(self) -> None:
        for _ in range(8):
            await asyncio.sleep(0)

    async def let_all_end(self) -> None:
        """Wait until every call has ended by itself."""
        await self.settle()
        while self.gatekeeper.waiting or self.notes.open:
            before = len(self.notes.open)
            for hold in self.gatekeeper.waiting:
                hold.set_result(None)
            await self.settle()
            for server in self.servers:
                server.fail_to_start()
            await self.wait(LONGEST_SECONDS)
            if len(self.notes.open) == before:
                break

    async def close(self, *, servers_first: bool) -> None:
        """End as over HTTP, where the servers end first, or as over stdio."""
        if servers_first:
            await self.workbench.close()
        for client in self._here.values():
            client.leave()
        self._parking.close()
        if not servers_first:
            await self.workbench.close()
        await self.settle()


def use(toolbox: str, server: str, tool: str, arguments: Json | None = None) -> Json:
    named = {"toolbox": toolbox, "server": server, "tool": tool}
    return {"name": "use_tool", "arguments": {"tool": named, "arguments": arguments or {}}}


def configured(what: str) -> LoadedConfig:
    """A configuration: the program of the servers is `what`; or there is none of the servers any more."""
    entry = ServerConfig(
        command="a" if what == "slower" else what,
        timeout=2 * TIMEOUT if what == "slower" else TIMEOUT,
        input_timeout=INPUT_TIMEOUT,
        call_limit=2,
        results=InlineConfig(inline_limit=INLINE_LIMIT),
    )
    servers = {} if what == "none" else {"old": entry, "new": entry}
    toolboxes = {"dev": ToolboxConfig(description="x", servers=servers)} if servers else {}
    return LoadedConfig(WorkbenchConfig(toolboxes=toolboxes), "x", (), Secrets({}), Stamp(()))
