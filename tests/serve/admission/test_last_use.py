"""When a token was last used: kept in a file beside the token file's own, by any number of processes."""

from __future__ import annotations

import stat
import time
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.config.tokens import digest_of, load_tokens
from mcp_workbench.serve.admission import last_use
from mcp_workbench.serve.admission.file_tokens import FileTokens
from mcp_workbench.serve.admission.last_use import LastUse
from mcp_workbench.storage.token_use import TokenUseFile, tag_of
from tests.cli.commands import Bench
from tests.serve.admission.shared import sharing
from tests.serve.admission.test_tokens import ALICE, BOB, write_tokens
from tests.support.configs import server, toolboxes
from tests.support.waiting import poll

if TYPE_CHECKING:
    from pathlib import Path

A, B = (digest_of(token.encode()) for token in (ALICE, BOB))


class Process:
    """One workbench process, as far as it knows of the use of tokens."""

    def __init__(self, tokens: Path, data: Path) -> None:
        environ = {"XDG_DATA_HOME": str(data)}
        self.file = TokenUseFile(str(tokens), environ)
        self.tokens = FileTokens(load_tokens(tokens, {}), lambda _: None)
        self.last_use = LastUse(self.file, self.tokens)

    def use(self, digest: bytes, at: float) -> None:
        self.tokens.by_digest[digest].used_at = at


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    return write_tokens(tmp_path, alice=(ALICE, ["*"]), bob=(BOB, ["dev"]))


async def test_the_latest_use_by_any_process_is_kept(tmp_path: Path, tokens: Path) -> None:
    one, two = Process(tokens, tmp_path / "data"), Process(tokens, tmp_path / "data")
    assert one.file.path == two.file.path
    one.use(A, 100.0)
    one.use(B, 300.0)
    await one.last_use.close()
    two.use(A, 200.0)
    two.use(B, 250.0)
    await two.last_use.close()
    assert one.file.read() == {tag_of(A): 200.0, tag_of(B): 300.0}


async def test_the_file_is_for_its_owner_only_and_names_neither_tokens_nor_people(
    tmp_path: Path, tokens: Path
) -> None:
    process = Process(tokens, tmp_path / "data")
    process.use(A, 100.0)
    await process.last_use.close()
    (path,) = (tmp_path / "data" / "mcp-workbench" / "token-use").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = path.read_text(encoding="utf-8")
    assert not any(text in content for text in (ALICE, A.hex(), "alice"))


async def test_uses_are_written_now_and_then_and_not_at_all_without_one(
    tmp_path: Path, tokens: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(last_use, "WRITE_EVERY_SECONDS", 0.01)
    process = Process(tokens, tmp_path / "data")
    process.last_use.start()
    process.use(A, 100.0)
    await poll(lambda: process.file.read() == {tag_of(A): 100.0})
    process.use(A, 101.0)
    await poll(lambda: process.file.read() == {tag_of(A): 101.0})
    await process.last_use.close()
    other = Process(write_tokens(tmp_path, carol=(BOB, ["*"])), tmp_path / "other")
    await other.last_use.close()
    assert not (tmp_path / "other").exists()


async def test_a_directory_that_cannot_be_written_is_reported_once_and_stops_nothing(
    tmp_path: Path, tokens: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "data").write_text("in the way", encoding="utf-8")
    process = Process(tokens, tmp_path / "data")
    for at in (100.0, 200.0):
        process.use(A, at)
        await process.last_use.close()
    assert caplog.text.count("the last use of tokens cannot be kept") == 1


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 2, "last_used": {}}', b"\xff" * 100])
async def test_a_damaged_file_is_replaced(tmp_path: Path, tokens: Path, content: bytes) -> None:
    process = Process(tokens, tmp_path / "data")
    process.use(A, 100.0)
    await process.last_use.close()
    (path,) = (tmp_path / "data" / "mcp-workbench" / "token-use").iterdir()
    path.write_bytes(content)
    assert process.file.read() == {}
    process.use(A, 200.0)
    await process.last_use.close()
    assert process.file.read() == {tag_of(A): 200.0}


async def test_the_operator_sees_who_used_a_token_and_when(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    tokens = write_tokens(tmp_path, alice=(ALICE, ["*"]), bob=(BOB, ["dev", "docs"]))
    before = int(time.time())
    config = toolboxes(dev={"echo": server()})
    async with sharing(tmp_path, config, "--token-file", str(tokens)) as shared:
        await shared.client(ALICE, "modern")
    done = bench.run("token", "--list", "--token-file", "tokens.json")
    assert done.returncode == 0, done.stderr
    header, alice, bob = [line.split("  ") for line in done.stdout.splitlines()]
    assert [cell.strip() for cell in header if cell] == ["name", "toolboxes", "expires", "last used"]
    assert [cell.strip() for cell in bob if cell] == ["bob", "dev, docs", "never", "not known"]
    used = time.strptime(alice[-1].strip(), "%Y-%m-%dT%H:%M:%SZ")
    assert before <= time.mktime(used) - time.timezone <= time.time()
