"""An admission under test, and what it does with requests and clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config import HttpConfig
from mcp_workbench.errors import Denied
from mcp_workbench.serve.admission import Admission
from mcp_workbench.workbench.principal import Principal

if TYPE_CHECKING:
    from mcp_workbench.config.tokens import LoadedTokens
    from mcp_workbench.serve.admission.admission import IsOver

LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - where nothing listens in these tests


class Disconnections:
    """The principals that an admission has disconnected, or whose streams it has ended."""

    def __init__(self) -> None:
        self.ends: list[IsOver] = []
        self.releases: list[IsOver] = []

    def disconnect(self, is_over: IsOver) -> None:
        self.ends.append(is_over)

    def end_streams(self, is_over: IsOver) -> None:
        self.releases.append(is_over)

    def is_over(self, principal: Principal) -> bool:
        return any(is_over(principal) for is_over in self.ends)

    def is_released(self, principal: Principal) -> bool:
        return any(is_over(principal) for is_over in self.releases)


PEER = "192.0.2.7"


class AdmissionHarness(Disconnections):
    """An admission, and the principals that it has disconnected."""

    def __init__(
        self,
        config: HttpConfig | None = None,
        tokens: LoadedTokens | None = None,
        listens_on: str = LOOPBACK,
    ) -> None:
        super().__init__()
        self.admission = Admission(listens_on, config or HttpConfig(), tokens, self)

    async def admit(
        self, *headers: tuple[str, str], host: str = "127.0.0.1:8000", peer: str = PEER
    ) -> Principal:
        pairs = [("host", host), ("accept", "*/*"), *headers]
        sent = [(name.encode(), value.encode()) for name, value in pairs]
        admitted = self.admission.admit(sent, peer)
        return admitted if isinstance(admitted, Principal) else await admitted

    async def admit_token(self, token: str) -> Principal:
        return await self.admit(("authorization", f"Bearer {token}"))

    async def refusal(self, token: str) -> Denied:
        with pytest.raises(Denied) as raised:
            await self.admit_token(token)
        assert token not in str(raised.value)
        return raised.value


def challenge_of(denied: Denied) -> str:
    return dict(denied.headers)[b"www-authenticate"].decode()
