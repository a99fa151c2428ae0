"""`mcp-workbench login`, with a browser that agrees to everything."""

from __future__ import annotations

import asyncio
import re
import sys
from typing import TYPE_CHECKING

from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


async def log_in(config: Path, args: Sequence[str], env: Mapping[str, str]) -> None:
    """Runs the command, visits the address that it prints, and waits for its end, whichever that is."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mcp_workbench", "login", *args, "--no-browser", "--config", str(config)),
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=pipe,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    said = ""
    async with asyncio.timeout(2 * PATIENCE):
        async for line in process.stdout:
            said += line.decode()
            if found := re.search(r"https?://\S+[?&]response_type=code\S*", line.decode()):
                await visit(found[0])
        await process.wait()
    print(f"login ended with {process.returncode}: {said}", file=sys.stderr)


async def visit(url: str) -> None:
    """Follows the redirections, as a browser does: the last of them leads back to the command."""
    import httpx2  # most scenarios need no login, and so no browser

    async with httpx2.AsyncClient(follow_redirects=True, timeout=PATIENCE) as browser:
        await browser.get(url)
