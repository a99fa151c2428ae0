"""What all who take part in a run share: the place, the servers, the books, the conversation and the time."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from soak.client import Client
    from soak.ledger import Ledger
    from soak.plan import Place, Server

LOOK_EVERY = 0.05


@dataclass(frozen=True, slots=True)
class Stage:
    """One workbench under test, and its surroundings."""

    place: Place
    servers: Sequence[Server]
    ledger: Ledger
    client: Client
    clock: Callable[[], float]
    """Seconds since the run began."""
    seed: str

    def chance(self, name: str) -> random.Random:
        """Chance of one's own, so that what one does is the same again whatever the others do."""
        return random.Random(f"{self.seed} {name}")

    async def comes(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Waits for what another process brings about; whether it came in this time."""
        deadline = self.clock() + seconds
        while not condition():
            if self.clock() > deadline:
                return False
            await asyncio.sleep(LOOK_EVERY)
        return True
