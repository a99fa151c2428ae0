"""The `results` objects of the file: which results are kept by the workbench and shown in short.

Owns the keys under `results`, with their types, defaults and descriptions.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

TOOLBOX = "workbench"
"""The name of the built-in toolbox that reads kept results."""
SERVER = "results"
"""The name of the one server in the built-in toolbox."""
BUILTIN = (TOOLBOX, SERVER)
"""The built-in server as other servers are named: by its toolbox and its own name."""

INLINE_LIMIT_BYTES = 50_000
"""Bytes of the largest result that a model gets whole, where the configuration does not say."""

# The text that stands in the place of a kept result takes a few hundred bytes itself.
_InlineLimit = Annotated[int, Meta(ge=1_000, le=1_073_741_824)]
_Bytes = Annotated[int, Meta(ge=0, le=1_099_511_627_776)]
_Seconds = Annotated[float, Meta(gt=0, le=100_000_000)]


_EXPECTED = 'a number of bytes from 1000 to 1073741824, in digits only, or "off"'


class InlineConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The `results` of a toolbox or a server: from which size on results are kept."""

    inline_limit: Annotated[
        _InlineLimit | Literal["off"],
        Meta(
            description="Bytes of the largest result that the model gets whole. A larger one is kept by the "
            "workbench, and the model gets its beginning and end and a handle to read it by. Images and "
            'sounds do not count. "off" passes on all results whole.',
            examples=[INLINE_LIMIT_BYTES],
            extra={"expected": _EXPECTED},
        ),
    ] = INLINE_LIMIT_BYTES


OFF = InlineConfig(inline_limit="off")
"""Keeps nothing: all results are passed on whole."""


class ResultsConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The `results` of the file: from which size on results are kept, how many of them, and how long."""

    inline_limit: Annotated[
        _InlineLimit | Literal["off"],
        Meta(
            description="Bytes of the largest result that the model gets whole, where a toolbox or a server "
            "does not say otherwise. A larger one is kept by the workbench, and the model gets its "
            "beginning and end and a handle to read it by. Images and sounds do not count. "
            '"off" passes on all results whole.',
            examples=[INLINE_LIMIT_BYTES],
            extra={"expected": _EXPECTED},
        ),
    ] = INLINE_LIMIT_BYTES
    memory: Annotated[
        _Bytes,
        Meta(
            description="Bytes of results that are kept in memory. What was not used for longest goes to "
            "files.",
            examples=[67108864],
            extra={"expected": "a number of bytes from 0 to 1099511627776, in digits only"},
        ),
    ] = 67_108_864
    quota: Annotated[
        _Bytes,
        Meta(
            description="Bytes of results that are kept in files, which only you can read. What was not used "
            "for longest goes first. 0 for no files at all.",
            examples=[1073741824],
            extra={"expected": "a number of bytes from 0 to 1099511627776, in digits only"},
        ),
    ] = 1_073_741_824
    lifetime: Annotated[
        _Seconds,
        Meta(
            description="Seconds that a result is kept after its last use.",
            examples=[3600],
            extra={"expected": "a number of seconds, more than 0 and at most 100000000"},
        ),
    ] = 3600.0
