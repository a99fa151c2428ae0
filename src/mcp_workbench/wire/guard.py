"""Placeholder until the guard's branch is merged."""


class Guard:
    async def close(self) -> None: ...
