"""Masks secret values in text, in all their usual spellings.

Owns finding and replacing them. Which values are secret is decided in `load` and `secret_values`, and how
each may be spelled in `spellings`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.masking.secret_values import is_plain
from mcp_workbench.config.masking.spellings import (
    ESCAPE_ROUNDS,
    MAX_BYTES_PER_BYTE,
    Unescaped,
    encode_text,
    encoded_spellings,
    has_run,
    plain_spellings,
    unescape,
    whole_base64,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    _Span = tuple[int, int, bytes]

MIN_SECRET_CHARACTERS = 6
"""Length of the shortest value that is masked. Shorter ones ("true", "8080") stand in too many texts."""
PIECE_BYTES = 1024 * 1024
"""Size of the pieces in which a long text is searched for secrets."""
MAX_ESCAPES = 200_000
"""Escapes in a text that is masked. With more of them a server could block the event loop."""


class Secrets:
    """A set of secret values, each with the label that stands in its place. Masks them in text."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = dict(labels)
        self._finder: _Finder | None = None
        self._certain: Secrets | None = None

    def __or__(self, others: Secrets) -> Secrets:
        """Return the secrets of both sets, to be masked together."""
        return Secrets(self._labels | others._labels)

    @property
    def certain(self) -> Secrets:
        """The secrets that definitions of tools must not show either: all but plain settings."""
        if self._certain is None:
            labels = {value: label for value, label in self._labels.items() if not is_plain(label, value)}
            self._certain = Secrets(labels)
        return self._certain

    def occur_in(self, data: bytes) -> bool:
        """Whether a text in UTF-8 holds a secret. A long text is searched in pieces."""
        return self._find.occurs(data)

    def mask(self, text: str) -> str:
        """Return the text with each secret replaced by its label."""
        return self._find.mask(text)

    @property
    def _find(self) -> _Finder:
        # Built when it is first needed, to keep the start short.
        if self._finder is None:
            self._finder = _Finder(self._labels)
        return self._finder


class _Finder:
    """Finds and masks a set of secrets in all their spellings."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        # A value of several lines also reaches the log line by line.
        lines = {line: label for value, label in labels.items() for line in value.splitlines()}
        plain = {line: label for line, label in lines.items() if len(line) >= MIN_SECRET_CHARACTERS}
        hidden = {value: label for value, label in labels.items() if len(value) >= MIN_SECRET_CHARACTERS}
        encoded: dict[str, str] = {}
        whole: dict[str, str] = {}
        for value, label in hidden.items():
            plain |= dict.fromkeys(plain_spellings(value), label)
            encoded |= dict.fromkeys(encoded_spellings(value), label)
            whole |= dict.fromkeys(whole_base64(value), label)
        plain |= hidden
        self._plain = [encode_text(spelling) for spelling in plain]
        self._encoded = [encode_text(spelling) for spelling in encoded]
        self._shortest_encoded = min(map(len, self._encoded), default=0)
        self._labels = {
            encode_text(text): label.encode() for text, label in (whole | encoded | plain).items()
        }

    def mask(self, text: str) -> str:
        data = encode_text(text)
        if data.count(b"%") + data.count(b"\\") > MAX_ESCAPES:
            return f"({len(text):,} characters left out: too many escapes to look for secrets in)"
        layers = self._layers(data)
        if not layers:
            return text
        maps = [Unescaped(layer) for layer in layers[:-1]]
        spans = [span for depth, layer in enumerate(layers) for span in self._spans(layer, maps[:depth])]
        if maps:
            # Masking half of an escape would make a JSON text invalid.
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
        overlap = longest * MAX_BYTES_PER_BYTE**ESCAPE_ROUNDS
        pieces = (data[at : at + PIECE_BYTES + overlap] for at in range(0, len(data), PIECE_BYTES))
        return any(self._layers(piece) for piece in pieces)

    def _layers(self, data: bytes) -> list[bytes]:
        """Return the text at each stage of decoding, if any stage holds a secret; otherwise an empty list."""
        layers = [data]
        found = self._occurs(data)
        for _ in range(ESCAPE_ROUNDS):
            plain = unescape(layers[-1])
            if len(plain) == len(layers[-1]):  # there was no escape: each is longer than its meaning
                break
            layers.append(plain)
            found = found or self._occurs(plain)
        return layers if found else []

    def _occurs(self, data: bytes) -> bool:
        # Several times as fast as one pattern for all, and nearly all texts hold no secret.
        if any(spelling in data for spelling in self._plain):
            return True
        return has_run(data, self._shortest_encoded) and any(spelling in data for spelling in self._encoded)

    def _spans(self, data: bytes, maps: list[Unescaped]) -> Iterator[_Span]:
        """Yield where secrets stand in a decoded text, as offsets into the text before it was decoded."""
        for spelling, label in self._labels.items():
            at = data.find(spelling)
            while at >= 0:
                start, end = at, at + len(spelling)
                for before in reversed(maps):
                    start, end = before.original(start, end)
                yield start, end, label
                at = data.find(spelling, at + len(spelling))


def _united(spans: list[_Span]) -> list[_Span]:
    """Return the spans in order, overlapping ones joined. The longest of them gives its label."""
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
