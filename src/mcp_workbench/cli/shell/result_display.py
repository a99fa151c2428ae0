"""Prints the result of a tool: for a person at a terminal, or as it is into a pipe or a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_workbench.cli.shell.saving import attachment_of
from mcp_workbench.cli.terminal import spell_json
from mcp_workbench.errors import BadAnswer
from mcp_workbench.workbench.text.sanitise import show_name, show_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from mcp_workbench.cli.shell.saving import Attachment

    Block = dict[str, Any]


class ShownResult(msgspec.Struct):
    """The parts of a tool's result that are shown. The others are in the raw result."""

    content: list[dict[str, Any]] = []
    structured: Any = msgspec.field(default=None, name="structuredContent")
    is_error: bool = msgspec.field(default=False, name="isError")

    @property
    def attachments(self) -> list[Attachment]:
        """The images, sounds and files of the result."""
        return [found for block in self.content if (found := attachment_of(block)) is not None]


_decode_result = msgspec.json.Decoder(ShownResult).decode


def read_shown(raw: msgspec.Raw) -> ShownResult:
    """Decode a result for people. Raises BadAnswer."""
    try:
        return _decode_result(raw)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadAnswer(f"its result is not the result of a tool: {error}") from None


def print_raw(raw: msgspec.Raw) -> None:
    """Print a JSON object: as it came, or on a terminal indented and without hidden characters."""
    if sys.stdout.isatty():
        print(spell_json(msgspec.json.format(bytes(raw), indent=2).decode()))
    else:
        _write(sys.stdout, bytes(raw).decode() + "\n")


def show_result(result: ShownResult, saved: Sequence[str]) -> None:
    """Print a result: errors of the tool on stderr, everything else on stdout.

    `saved` has the paths of its images and files, if they were saved.
    """
    stream = sys.stderr if result.is_error else sys.stdout
    for text in _texts(result, iter(saved), is_raw=not stream.isatty()):
        _write(stream, text if text.endswith("\n") else f"{text}\n")


def _texts(result: ShownResult, saved: Iterator[str], *, is_raw: bool) -> Iterator[str]:
    shown: list[str] = []
    for block in result.content:
        kind = block.get("type")
        resource = block.get("resource") if kind == "resource" else None
        if kind == "text" and isinstance(text := block.get("text"), str):
            shown.append(text)
            yield text if is_raw else _for_terminal(text)
        elif (found := attachment_of(block)) is not None:
            path = next(saved, None)
            where = "--save FILE or --save DIR/ writes it" if path is None else f"saved as {path}"
            yield show_name(f"[{found.description}: {where}]")
        elif isinstance(resource, dict) and isinstance(text := resource.get("text"), str):
            yield show_name(f"[{resource.get('uri', 'resource')}]")
            yield text if is_raw else _for_terminal(text)
        elif kind == "resource_link":
            named = block.get("title") or block.get("name") or ""
            yield show_name(" ".join(f"[link {named} {block.get('uri', '')}".split()) + "]")
        else:
            yield spell_json(msgspec.json.format(msgspec.json.encode(block), indent=2).decode())
    if result.structured is not None and not _is_shown(result.structured, shown):
        yield spell_json(msgspec.json.format(msgspec.json.encode(result.structured), indent=2).decode())


def _is_shown(structured: object, texts: Sequence[str]) -> bool:
    """Whether a text says the same as structured content, or as its only member: `{"result": "…"}`."""
    ways = [structured]
    if isinstance(structured, dict) and len(structured) == 1:
        ways += structured.values()
    return any(way in (text, _json_in(text)) for text in texts for way in ways if way is not None)


def _for_terminal(text: str) -> str:
    if isinstance(_json_in(text), (dict, list)):
        return spell_json(msgspec.json.format(text.encode(), indent=2).decode())
    return show_text(text)


def _json_in(text: str) -> object:
    """Return the value that a text is as JSON; None for any other text."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _write(stream: TextIO, text: str) -> None:
    """Write a text: into a pipe or a file as UTF-8, whatever the locale, and to a terminal as it shows it."""
    stream.flush()
    if stream.isatty() or not hasattr(stream, "buffer"):
        stream.write(text)
    else:
        stream.buffer.write(text.encode(errors="surrogatepass"))
    stream.flush()
