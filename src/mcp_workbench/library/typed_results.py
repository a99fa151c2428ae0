"""What the methods of `Workbench` return: tools, openings, search results and the results of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mcp_workbench.errors import BadAnswer
from mcp_workbench.workbench.text.sanitise import clean_definition, clean_text

if TYPE_CHECKING:
    from mcp_workbench.config import Origin
    from mcp_workbench.errors import StartError
    from mcp_workbench.workbench.client_view import SearchFindings
    from mcp_workbench.workbench.toolbox import Opening

    Json = dict[str, Any]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of a server. `toolbox`, `server` and `name` are what `Workbench.call` takes."""

    toolbox: str
    server: str
    name: str
    title: str | None
    """The name for people, if the server gives one."""
    description: str
    """What the tool does, without hidden characters; empty if the server does not say."""
    input_schema: Json
    """The JSON Schema of the arguments, without hidden characters."""
    output_schema: Json | None
    """The JSON Schema of `CallResult.structured_content`, if the server gives one."""
    annotations: Json
    """Hints of the server about the tool, such as `readOnlyHint`."""
    definition: Json
    """The whole definition as the server sent it, with fields that are not known here."""
    listed_at: float | None
    """When the server listed the tool, in seconds since the epoch; None if the server is running."""


class FailedServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server that could not be started when its toolbox was opened."""

    server: str
    error: str
    stderr: list[str]
    """The last lines that the server wrote to its stderr."""
    hint: str
    """What to do about it; empty if nothing is known."""


class OpenResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of opening a toolbox."""

    name: str
    description: str
    tools: list[Tool]
    """The tools of all servers that are connected."""
    failed: list[FailedServer]
    """Servers that could not be started. The others serve."""
    starting: list[str]
    """Servers that are not ready yet. They go on starting: open the toolbox again for their tools."""


class FindResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a search for tools has found."""

    tools: list[Tool]
    """The tools that were found, best first."""
    not_searched: list[tuple[str, str]]
    """Toolbox and name of each server whose tools are not known yet. Opening the toolbox lists them."""


class ProgressReport(msgspec.Struct, frozen=True):
    """A report of a server on the progress of a call."""

    progress: float
    total: float | None = None
    message: str | None = None


class CallResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a tool, as the server sent it."""

    content: list[Json]
    """The content blocks, each as MCP defines it: `{"type": "text", "text": …}` and others."""
    structured_content: Json | None
    """The result as data, if the tool gives it."""
    is_error: bool
    """Whether the tool failed. The content says why."""
    meta: Json
    """The `_meta` of the result."""
    raw: bytes
    """The whole result as JSON, byte for byte as the server sent it."""

    @property
    def text(self) -> str:
        """The text of all text blocks, joined by newlines."""
        texts = (block.get("text") for block in self.content if block.get("type") == "text")
        return "\n".join(text for text in texts if isinstance(text, str))


class _Result(msgspec.Struct):
    content: list[dict[str, Any]] = []
    structured_content: dict[str, Any] | None = msgspec.field(default=None, name="structuredContent")
    is_error: bool = msgspec.field(default=False, name="isError")
    meta: dict[str, Any] = msgspec.field(default_factory=dict, name="_meta")


_decode_result = msgspec.json.Decoder(_Result).decode
_decode_progress = msgspec.json.Decoder(ProgressReport).decode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


def read_result(raw: msgspec.Raw) -> CallResult:
    """Decode the result of a tool. Raises BadAnswer if it is none."""
    try:
        result = _decode_result(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadAnswer(f"its result is not the result of a tool: {error}") from None
    return CallResult(
        content=result.content,
        structured_content=result.structured_content,
        is_error=result.is_error,
        meta=result.meta,
        raw=bytes(raw),
    )


def read_progress(params: bytes) -> ProgressReport | None:
    """Decode the parameters of a progress notification; None if they are malformed."""
    try:
        return _decode_progress(params)
    except (msgspec.DecodeError, RecursionError):
        return None


def read_opening(opening: Opening) -> OpenResult:
    """The public form of an opened toolbox."""
    return OpenResult(
        name=opening.toolbox.name,
        description=opening.toolbox.description,
        tools=[
            _read_tool(toolbox_server.origin, name, definition, None)
            for toolbox_server, index in opening.tools
            for name, definition in index.items()
        ],
        failed=[_read_failure(failure) for failure in opening.failures],
        starting=opening.starting,
    )


def read_findings(findings: SearchFindings) -> FindResult:
    """The public form of what a search with one query has found."""
    (found,) = findings.found
    return FindResult(
        tools=[_read_tool(tool.origin, tool.name, tool.definition, tool.listed_at) for tool in found],
        not_searched=findings.unknown,
    )


def _read_failure(failure: StartError) -> FailedServer:
    return FailedServer(
        server=failure.server,
        error=clean_text(str(failure)),
        stderr=[clean_text(line) for line in failure.stderr],
        hint=failure.hint,
    )


def _read_tool(origin: Origin, name: str, raw: msgspec.Raw, listed_at: float | None) -> Tool:
    definition = _decode_object(raw)
    cleaned, removed = clean_definition(bytes(raw))
    shown = _decode_object(cleaned) if removed else definition
    annotations = _object(shown.get("annotations")) or {}
    return Tool(
        toolbox=origin[0],
        server=origin[1],
        name=name,
        title=_text(shown.get("title")) or _text(annotations.get("title")),
        description=_text(shown.get("description")) or "",
        input_schema=_object(shown.get("inputSchema")) or {},
        output_schema=_object(shown.get("outputSchema")),
        annotations=annotations,
        definition=definition,
        listed_at=listed_at,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _object(value: object) -> Json | None:
    return value if isinstance(value, dict) else None
