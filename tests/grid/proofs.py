"""What the tests of the grid prove, as they say it themselves by their marks."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.grid.features import FEATURES

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

Pair = tuple[str, str]
"""The era of the client, and the era of the server."""


@dataclass
class Proof:
    """Of one feature: the cells that have a test, in which files, and with what besides raw programs."""

    cells: set[Pair] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)


class Proofs:
    """Of all the features, and what is wrong with the marks."""

    def __init__(self) -> None:
        self.by_feature: defaultdict[str, Proof] = defaultdict(Proof)
        self.complaints: list[str] = []

    def add(self, name: str, file: str, marks: Iterable[pytest.Mark], params: dict[str, Any]) -> None:
        """Takes up one test with its parameters."""
        cells = [cell for mark in marks if (cell := self._take(name, file, mark, params))]
        if not cells:
            self.complaints.append(f"{name} proves no cell: mark it with `proves`")

    def missing(self) -> list[str]:
        """The cells that the features have and no test proves."""
        return [
            f"{name}: no test has a {client} client and a {server} server"
            for name, feature in FEATURES.items()
            for client, server in feature.cells
            if (client, server) not in self.by_feature[name].cells
        ]

    def _take(self, name: str, file: str, mark: pytest.Mark, params: dict[str, Any]) -> Pair | None:
        (feature,) = mark.args
        if feature not in FEATURES:
            self.complaints.append(f"{name} proves '{feature}', which is no feature")
            return None
        sdk = params.get("sdk")
        client: str = mark.kwargs["client"] or params.get("client_era") or (sdk.era if sdk else "any")
        server: str = mark.kwargs["server"] or params.get("server_era", "any")
        if (client, server) not in FEATURES[feature].cells:
            self.complaints.append(
                f"{name} proves '{feature}' in ({client}, {server}), where there is no such thing"
            )
            return None
        proof = self.by_feature[feature]
        proof.cells.add((client, server))
        proof.files.add(file)
        proof.others |= {mark.kwargs["by"]} if mark.kwargs["by"] else set()
        proof.others |= {f"{sdk.name} client"} if sdk else set()
        return client, server


def proofs_of(items: Iterable[pytest.Item]) -> Proofs:
    proofs = Proofs()
    for item in items:
        callspec = getattr(item, "callspec", None)
        params = callspec.params if callspec else {}
        proofs.add(item.nodeid, item.path.name, item.iter_markers("proves"), params)
    proofs.complaints += proofs.missing()
    return proofs
