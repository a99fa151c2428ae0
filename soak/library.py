"""What the soak's server has beyond tools: resources that can change, a prompt, and log messages."""

from __future__ import annotations

from soak import bodies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from soak.server import SoakServer

    Json = dict[str, Any]

PREFIX = "io.modelcontextprotocol/"
SCHEME = "soak://"
"""Of resources. The rest of a URI is a token and a size."""
PROMPT = "say"
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
CAPABILITIES: Json = {"logging": {}, "resources": {"subscribe": True}, "prompts": {}}


def uri_of(token: str, size: int) -> str:
    """The resource with the text of this token and size."""
    return f"{SCHEME}{token}/{size}"


class Library:
    """All of it, and who wants to hear of changes."""

    def __init__(self, server: SoakServer) -> None:
        self._server = server
        self._level = 0
        """From which on a legacy client wants log messages."""
        self._subscribed: set[str] = set()
        self._streams: dict[object, Json] = {}
        """What each stream of a modern client is for."""

    def result_of(self, method: str, params: Json) -> Json | None:
        """The answer to a request, if it is about any of this."""
        modern = self._server.modern
        if method == "resources/read":
            token, _, size = params["uri"].removeprefix(SCHEME).partition("/")
            self._server.note(token)
            contents = [{"uri": params["uri"], "text": bodies.text(token, int(size))}]
            return {"contents": contents, **self._server.caching}
        if method == "prompts/get":
            token, size = params["arguments"]["token"], int(params["arguments"]["size"])
            self._server.note(token)
            text = {"type": "text", "text": bodies.text(token, size)}
            return {"messages": [{"role": "user", "content": text}]}
        if method == "resources/list":
            return {"resources": [{"uri": uri_of("t0", 10), "name": "some"}], **self._server.caching}
        if method == "prompts/list":
            return {"prompts": [{"name": PROMPT}], **self._server.caching}
        if modern:
            return None
        if method == "logging/setLevel":
            self._level = LEVELS.index(params["level"])
        elif method == "resources/subscribe":
            self._subscribed.add(params["uri"])
        elif method == "resources/unsubscribe":
            self._subscribed.discard(params["uri"])
        else:
            return None
        return {}

    def listen(self, request: object, wanted: Json) -> None:
        """A modern client wants to hear of this from now on."""
        self._streams[request] = wanted
        tag = {PREFIX + "subscriptionId": request}
        self._server.notify(
            "notifications/subscriptions/acknowledged", {"_meta": tag, "notifications": wanted}
        )

    def leave(self, request: object) -> None:
        """It does not any more."""
        self._streams.pop(request, None)

    def change_tools(self) -> None:
        """Says that there are other tools."""
        if not self._server.modern:
            self._server.notify("notifications/tools/list_changed", {})
        for stream, wanted in self._streams.items():
            if wanted.get("toolsListChanged"):
                tag = {PREFIX + "subscriptionId": stream}
                self._server.notify("notifications/tools/list_changed", {"_meta": tag})

    def touch(self, uri: str) -> None:
        """Says that a resource has changed, to all who want to hear it."""
        if uri in self._subscribed:
            self._server.notify("notifications/resources/updated", {"uri": uri})
        for stream, wanted in self._streams.items():
            if uri in wanted.get("resourceSubscriptions", ()):
                tag = {PREFIX + "subscriptionId": stream}
                self._server.notify("notifications/resources/updated", {"_meta": tag, "uri": uri})

    def log(self, params: Json) -> None:
        """Logs once at every level that is wanted, every other time under a name."""
        least = self._level
        if self._server.modern:
            level = params["_meta"].get(PREFIX + "logLevel")
            least = len(LEVELS) if level is None else LEVELS.index(level)
        for number, level in enumerate(LEVELS):
            if number >= least:
                data = {"token": params["arguments"]["token"], "server": self._server.name}
                name = {"logger": f"log {number}"} if number % 2 else {}
                self._server.notify("notifications/message", {"level": level, "data": data, **name})
