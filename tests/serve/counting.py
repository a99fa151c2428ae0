"""What it costs to do something, counted in steps, decodings, encodings and bytes. No clock."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


class Steps:
    """What happened while something was done: calls of Python functions, decodings and encodings of JSON."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.calls: list[str] = []
        self.own: list[str] = []
        """The calls of the workbench's own functions, which are a part of all calls."""
        self.decodings = self.encodings = 0
        # What others have left to the collector, and what that runs, is not to be counted here.
        collects = gc.isenabled()
        gc.disable()
        sys.setprofile(self._note)
        try:
            work()
        finally:
            sys.setprofile(None)
            if collects:
                gc.enable()

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            self.calls.append(frame.f_code.co_qualname)
            if frame.f_globals["__name__"].startswith("mcp_workbench."):
                self.own.append(frame.f_code.co_qualname)
        elif event == "c_call":
            owner = getattr(argument, "__self__", None)
            self.decodings += isinstance(owner, msgspec.json.Decoder) or argument is msgspec.json.decode
            self.encodings += isinstance(owner, msgspec.json.Encoder) or argument is msgspec.json.encode


def allocated(work: Callable[[], None]) -> int:
    """The most memory, in bytes, that it took beyond what was there."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
