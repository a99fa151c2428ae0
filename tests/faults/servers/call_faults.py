"""Faults in a call by their names: what the tool `fault` does in place of an answer.

Each is a function that is named for what it does; what must come of it stands in the table beside the tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.faults.servers import absences, excesses, malformations

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.servers.conversation import Call


def named(name: str) -> Callable[[Call], None]:
    """The fault of that name."""
    for family in (absences, excesses, malformations):
        if fault := vars(family).get(name):
            known: Callable[[Call], None] = fault
            return known
    raise LookupError(name)
