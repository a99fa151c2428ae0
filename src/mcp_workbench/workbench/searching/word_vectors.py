"""The model of the extra `semantic`: the word vectors inside the package `wordllama`.

Reads the package's files without importing it: importing it would set up logging, and its own loader looks
for the tokenizer in the wrong place and then on the network.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGE: Final = "wordllama"
WEIGHTS: Final = ("weights", "l2_supercat_256.safetensors")
TENSOR: Final = "embedding.weight"
TOKENIZER: Final = ("tokenizers", "l2_supercat_tokenizer_config.json")
MAX_WORD_PIECES: Final = 2
"""Pieces that the tokenizer may cut a word into. Most words are one piece; mistyped ones have more."""


def is_installed() -> bool:
    """Whether the extra is installed. Imports nothing."""
    return find_spec(PACKAGE) is not None


class WordVectors:
    """Embeds texts: the mean of the vectors of their words, with length 1."""

    def __init__(self, name: str, words: Any, tokenizer: Any) -> None:
        self.name = name
        """The model and its version: vectors of another model cannot be compared with these."""
        self.dimensions = int(words.shape[1])
        self._words = words
        self._tokenizer = tokenizer

    @property
    def size(self) -> int:
        """Bytes of a packed vector, as it is stored."""
        return 2 * self.dimensions

    def embed(self, texts: Sequence[str]) -> Any:
        """Return a row for each text, rounded as packing does; zeros for a text without known words."""
        import numpy as np  # noqa: PLC0415 - the extra's

        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for number, text in enumerate(texts):
            # One by one: a batch starts a thread per core, which takes longer for a few short texts.
            if not (ids := self._tokenizer.encode(_valid(text), add_special_tokens=False).ids):
                continue
            row = self._words[ids].mean(axis=0, dtype=np.float32)
            if length := float(np.linalg.norm(row)):
                rows[number] = row / length
        return rows.astype(np.float16).astype(np.float32)

    def is_word(self, word: str) -> bool:
        """Whether a text looks like a word of the language; mistyped words do not."""
        return len(self._tokenizer.encode(_valid(word), add_special_tokens=False).ids) <= MAX_WORD_PIECES

    def pack(self, rows: Any) -> list[bytes]:
        """Return the rows as bytes, to be stored."""
        return [row.astype("<f2").tobytes() for row in rows]

    def unpack(self, packed: Sequence[bytes]) -> Any:
        """Return the rows of packed vectors."""
        import numpy as np  # noqa: PLC0415 - the extra's

        rows = np.frombuffer(b"".join(packed), "<f2").reshape(len(packed), self.dimensions)
        return rows.astype(np.float32)


def load_word_vectors() -> WordVectors:
    """Load the model. Raises whatever is wrong with its installation."""
    from importlib.metadata import version  # noqa: PLC0415 - takes a while to load, and only the extra needs it

    import msgspec  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415 - the extra's
    from tokenizers import Tokenizer  # noqa: PLC0415 - the extra's

    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"The package {PACKAGE} is not installed.")
    home = spec.submodule_search_locations[0]
    weights = os.path.join(home, *WEIGHTS)
    with open(weights, "rb") as file:
        header_size = int.from_bytes(file.read(8), "little")
        header = msgspec.json.decode(file.read(header_size))
    tensor = header[TENSOR]
    if tensor["dtype"] != "F16":
        raise ValueError(f"{weights} has numbers of the type {tensor['dtype']}.")
    start = 8 + header_size + tensor["data_offsets"][0]
    # Mapped, not read: a search touches only the rows of its words.
    words = np.memmap(weights, "<f2", "r", offset=start, shape=tuple(tensor["shape"]))
    tokenizer = Tokenizer.from_file(os.path.join(home, *TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return WordVectors(f"{PACKAGE}-{version(PACKAGE)}-mean", words, tokenizer)


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
