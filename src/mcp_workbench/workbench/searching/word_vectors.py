"""The model of the extra `semantic`: the vectors of words that the package `wordllama` carries.

Its files are read as they lie there, and the package itself is not imported: that would set up logging, and
its own loader looks for the tokenizer in the wrong place and then on the network.
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
MOST_PIECES: Final = 2
"""Of a word. Most words are one piece, and mistyped ones fall apart."""


def is_installed() -> bool:
    """Whether the extra is there. It imports nothing."""
    return find_spec(PACKAGE) is not None


class WordVectors:
    """What texts mean: the mean of the vectors of their words, of length 1."""

    def __init__(self, name: str, words: Any, tokenizer: Any) -> None:
        self.name = name
        """Names the model and its version: vectors of another name cannot be compared with these."""
        self.dimensions = int(words.shape[1])
        self._words = words
        self._tokenizer = tokenizer

    @property
    def size(self) -> int:
        """Bytes of a packed vector."""
        return 2 * self.dimensions

    def embed(self, texts: Sequence[str]) -> Any:
        """A row for each text, rounded to what packing keeps; zeros where there is nothing to go by."""
        import numpy as np  # noqa: PLC0415 - the extra's

        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for number, text in enumerate(texts):
            # One by one: a batch starts a thread for each core, which takes longer for a few short texts.
            if not (ids := self._tokenizer.encode(_valid(text), add_special_tokens=False).ids):
                continue
            row = self._words[ids].mean(axis=0, dtype=np.float32)
            if length := float(np.linalg.norm(row)):
                rows[number] = row / length
        return rows.astype(np.float16).astype(np.float32)

    def is_word(self, word: str) -> bool:
        """Whether it looks like a word: mistyped ones do not."""
        return len(self._tokenizer.encode(_valid(word), add_special_tokens=False).ids) <= MOST_PIECES

    def pack(self, rows: Any) -> list[bytes]:
        """The rows as bytes, to be kept."""
        return [row.astype("<f2").tobytes() for row in rows]

    def unpack(self, packed: Sequence[bytes]) -> Any:
        """The rows that were packed."""
        import numpy as np  # noqa: PLC0415 - the extra's

        rows = np.frombuffer(b"".join(packed), "<f2").reshape(len(packed), self.dimensions)
        return rows.astype(np.float32)


def load_word_vectors() -> WordVectors:
    """Reads the model. Whatever is wrong with its installation is raised as it comes."""
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
    # Mapped, not read: a search touches the few words that it has.
    words = np.memmap(weights, "<f2", "r", offset=start, shape=tuple(tensor["shape"]))
    tokenizer = Tokenizer.from_file(os.path.join(home, *TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return WordVectors(f"{PACKAGE}-{version(PACKAGE)}-mean", words, tokenizer)


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
