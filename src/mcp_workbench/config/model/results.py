"""The part of the configuration that says which results are kept and shown in short, as immutable data.

Owns the keys under `results`, as `model` owns all others.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

TOOLBOX = "workbench"
"""The name of the toolbox with which kept results are read."""

# What stands in the place of a result takes a few hundred bytes by itself.
_InlineLimit = Annotated[int, Meta(ge=1_000, le=1_073_741_824)]
_Bytes = Annotated[int, Meta(ge=0, le=1_099_511_627_776)]
_Seconds = Annotated[float, Meta(gt=0, le=100_000_000)]


class InlineConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """From which size on the results of some servers are kept."""

    inline_limit: Annotated[
        _InlineLimit,
        Meta(
            description="Bytes of the largest result that is passed on whole. A larger one is kept by the "
            "workbench, and the model gets its beginning and end and a handle to read it by.",
            examples=[100000],
            extra={"expected": "a number of bytes from 1000 to 1073741824, in digits only"},
        ),
    ]


class ResultsConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """From which size on results are kept, and how much of them for how long."""

    inline_limit: Annotated[
        _InlineLimit | None,
        Meta(
            description="Bytes of the largest result that is passed on whole, where a toolbox or a server "
            "does not say otherwise. A larger one is kept by the workbench, and the model gets its "
            "beginning and end and a handle to read it by. Default: all results are passed on whole.",
            examples=[100000],
            extra={"expected": "a number of bytes from 1000 to 1073741824, in digits only"},
        ),
    ] = None
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
