"""Keeps values that may be secret out of what people read.

Owns the masking of text. Does not decide which values are secret (see `load`), nor how each may be spelled
(see `spellings`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.masking.spellings import (
    ESCAPE_ROUNDS,
    LONGEST_ESCAPE,
    Unescaped,
    encoded_spellings,
    has_run,
    plain_spellings,
    unescape,
    whole_base64,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    _Span = tuple[int, int, bytes]

# Shorter values ("true", "8080") stand in too many innocent texts to be worth hiding.
SHORTEST_SECRET = 6

PIECE = 1024 * 1024
MOST_ESCAPES = 200_000
"""In a text that is masked on the event loop: a server could hold it up with more."""


class Secrets:
    """Replaces each secret value by its label, in whatever usual spelling it stands."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = dict(labels)
        self._finder: _Finder | None = None
        self._certain: Secrets | None = None

    def __or__(self, others: Secrets) -> Secrets:
        return Secrets(self._labels | others._labels)

    @property
    def certain(self) -> Secrets:
        """Those that definitions of tools must not show either: all but plain words, paths and the like."""
        if self._certain is None:
            from mcp_workbench.config.masking.plain_values import is_plain  # noqa: PLC0415 - not for a start

            labels = {value: label for value, label in self._labels.items() if not is_plain(label, value)}
            self._certain = Secrets(labels)
        return self._certain

    def occur_in(self, data: bytes) -> bool:
        """Whether one of them stands in a text, given in UTF-8 and looked at in pieces: it may be long."""
        return self._find.occurs(data)

    def mask(self, text: str) -> str:
        """The text with the label of each secret in the place of its value."""
        return self._find.mask(text)

    @property
    def _find(self) -> _Finder:
        # Made when it is first needed: not at the start.
        if self._finder is None:
            self._finder = _Finder(self._labels)
        return self._finder


class _Finder:
    """Finds the secrets of a set in all their spellings."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        # A value also reaches a log line by line.
        lines = {line: label for value, label in labels.items() for line in value.splitlines()}
        plain = {line: label for line, label in lines.items() if len(line) >= SHORTEST_SECRET}
        hidden = {value: label for value, label in labels.items() if len(value) >= SHORTEST_SECRET}
        encoded: dict[str, str] = {}
        whole: dict[str, str] = {}
        for value, label in hidden.items():
            plain |= dict.fromkeys(plain_spellings(value), label)
            encoded |= dict.fromkeys(encoded_spellings(value), label)
            whole |= dict.fromkeys(whole_base64(value), label)
        plain |= hidden
        self._plain = [_encode(spelling) for spelling in plain]
        self._encoded = [_encode(spelling) for spelling in encoded]
        self._shortest_encoded = min(map(len, self._encoded), default=0)
        self._labels = {_encode(text): label.encode() for text, label in (whole | encoded | plain).items()}

    def mask(self, text: str) -> str:
        data = _encode(text)
        if data.count(b"%") + data.count(b"\\") > MOST_ESCAPES:
            return f"({len(text):,} characters left out: too many escapes to look for secrets in)"
        layers = self._layers(data)
        if not layers:
            return text
        maps = [Unescaped(layer) for layer in layers[:-1]]
        spans = [span for depth, layer in enumerate(layers) for span in self._spans(layer, maps[:depth])]
        if maps:
            # Half of an escape that is left would make a JSON text invalid.
            spans = [(*maps[0].widened(start, end), label) for start, end, label in spans]
        pieces: list[bytes] = []
        at = 0
        for start, end, label in _united(spans):
            pieces += data[at:start], label
            at = end
        pieces.append(data[at:])
        return b"".join(pieces).decode(errors="surrogatepass")

    def occurs(self, data: bytes) -> bool:
        longest = max(map(len, self._labels), default=0)
        overlap = longest * LONGEST_ESCAPE**ESCAPE_ROUNDS
        pieces = (data[at : at + PIECE + overlap] for at in range(0, len(data), PIECE))
        return any(self._layers(piece) for piece in pieces)

    def _layers(self, data: bytes) -> list[bytes]:
        """A text that holds a secret, and the same with its escapes taken out, once and twice; else none."""
        layers = [data]
        found = self._occurs(data)
        for _ in range(ESCAPE_ROUNDS):
            plain = unescape(layers[-1])
            if len(plain) == len(layers[-1]):  # an escape is longer than what it means
                break
            layers.append(plain)
            found = found or self._occurs(plain)
        return layers if found else []

    def _occurs(self, data: bytes) -> bool:
        # Several times as fast as a pattern of all, and nearly all texts hold none.
        if any(spelling in data for spelling in self._plain):
            return True
        return has_run(data, self._shortest_encoded) and any(spelling in data for spelling in self._encoded)

    def _spans(self, data: bytes, maps: list[Unescaped]) -> Iterator[_Span]:
        """Where secrets stand in a text, in places of the text before its escapes were taken out."""
        for spelling, label in self._labels.items():
            at = data.find(spelling)
            while at >= 0:
                start, end = at, at + len(spelling)
                for before in reversed(maps):
                    start, end = before.original(start, end)
                yield start, end, label
                at = data.find(spelling, at + len(spelling))


def _united(spans: list[_Span]) -> list[_Span]:
    """Spans that do not overlap, in order. Of those that do, the longest gives its label to all."""
    united: list[_Span] = []
    length = 0
    for start, end, label in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not united or start >= united[-1][1]:
            united.append((start, end, label))
            length = end - start
            continue
        before, until, its_label = united[-1]
        its_label = label if end - start > length else its_label
        length = max(length, end - start)
        united[-1] = (before, max(until, end), its_label)
    return united


def _encode(text: str) -> bytes:
    # A variable of the system that is no UTF-8 comes as text with surrogates.
    return text.encode(errors="surrogatepass")
