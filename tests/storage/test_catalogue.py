"""What a server offered is remembered for searches, and a damaged catalogue does no harm."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from mcp_workbench.config import Secrets, ServerConfig
from mcp_workbench.downstream.recorder import masked
from mcp_workbench.storage import catalogue
from mcp_workbench.storage.catalogue import FRESH_SECONDS, UNUSED_SECONDS, Catalogue, Record, identity_of
from mcp_workbench.wire.message import ABSENT
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

NOON = 1_760_000_000.0
ODD = b'{ "name":"caf\xc3\xa9", "x-unknown": [1, 2.50, 1e400],\n "description":"\\ud83d\\ude00" }'


def record(
    *tools: bytes, info: bytes = b'{"name":"s"}', protocol: str = "legacy", at: float = NOON
) -> Record:
    listed = tools or (b'{"name":"a"}', b'{"name":"b"}')
    return Record(tuple(map(msgspec.Raw, listed)), msgspec.Raw(info), protocol, at)


def files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if not path.is_dir())


def the_file(directory: Path) -> Path:
    (file,) = files(directory)
    return file


def kept(directory: Path, what: Record) -> Path:
    Catalogue(directory).keep("server", what)
    return the_file(directory)


@pytest.mark.parametrize(
    "what",
    [
        record(),
        record(ODD),
        record(protocol="2026-07-28", info=b""),
        Record((), ABSENT, "legacy", NOON + 0.123456),
        record(*(b'{"name":"%d"}' % number for number in range(1000))),
    ],
    ids=["two tools", "an odd one", "no info", "no tools", "many"],
)
def test_what_is_kept_is_recalled_byte_for_byte_in_the_next_process(tmp_path: Path, what: Record) -> None:
    Catalogue(tmp_path).keep("server", what)
    assert Catalogue(tmp_path).recall("server") == what
    assert Catalogue(tmp_path).recall("another") is None


def test_the_file_is_json_with_a_line_for_each_tool(tmp_path: Path) -> None:
    text = kept(tmp_path, record()).read_text("utf-8")
    assert json.loads(text) == {
        "format": 1,
        "era": "legacy",
        "listed_at": NOON,
        "server_info": {"name": "s"},
        "tools": [{"name": "a"}, {"name": "b"}],
    }
    assert text.splitlines()[3:5] == ['{"name":"a"},', '{"name":"b"}']


def test_its_owner_alone_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        file = kept(tmp_path, record())
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)]
    assert modes == [0o600, 0o700]


def test_a_directory_that_others_could_look_into_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "catalogue").mkdir(mode=0o755)
    assert stat.S_IMODE(kept(tmp_path, record()).parent.stat().st_mode) == 0o700


def test_nothing_is_made_before_something_is_kept(tmp_path: Path) -> None:
    assert Catalogue(tmp_path / "cache").recall("server") is None
    assert list(tmp_path.iterdir()) == []


def test_the_same_object_is_recalled_for_as_long_as_the_file_is_the_same(tmp_path: Path) -> None:
    kept(tmp_path, record())
    memory = Catalogue(tmp_path)
    first = memory.recall("server")
    assert first is not None
    assert memory.recall("server") is first
    kept(tmp_path, record(ODD))
    assert memory.recall("server") == record(ODD)


def test_what_this_process_has_kept_is_not_read_again(tmp_path: Path) -> None:
    memory, what = Catalogue(tmp_path), record()
    memory.keep("server", what)
    assert memory.recall("server") is what


def test_the_latest_is_what_counts_and_nothing_else_is_left(tmp_path: Path) -> None:
    memory = Catalogue(tmp_path)
    memory.keep("server", record())
    memory.keep("server", record(ODD))
    assert memory.recall("server") == record(ODD)
    assert len(files(tmp_path)) == 1


def test_a_file_that_was_removed_is_forgotten(tmp_path: Path) -> None:
    memory = Catalogue(tmp_path)
    memory.keep("server", record())
    the_file(tmp_path).unlink()
    assert memory.recall("server") is None


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "not yet read"])
def test_the_same_again_is_not_written_within_the_hour(tmp_path: Path, is_known: bool) -> None:
    memory = Catalogue(tmp_path)
    memory.keep("server", record())
    inode = the_file(tmp_path).stat().st_ino
    memory = memory if is_known else Catalogue(tmp_path)
    memory.keep("server", record(at=NOON + FRESH_SECONDS - 1))
    assert the_file(tmp_path).stat().st_ino == inode
    assert memory.recall("server") == record()
    memory.keep("server", record(at=NOON + FRESH_SECONDS))
    assert memory.recall("server") == Catalogue(tmp_path).recall("server") == record(at=NOON + FRESH_SECONDS)


def test_a_record_from_the_future_is_replaced(tmp_path: Path) -> None:
    kept(tmp_path, record(at=NOON + 10 * FRESH_SECONDS))
    kept(tmp_path, record())
    assert Catalogue(tmp_path).recall("server") == record()


@pytest.mark.parametrize("change", [{"info": b'{"name":"t"}'}, {"protocol": "2026-07-28"}], ids=str)
def test_any_change_is_written(tmp_path: Path, change: dict[str, str]) -> None:
    kept(tmp_path, record())
    kept(tmp_path, record(**change))  # type: ignore[arg-type]  # one member or another
    assert Catalogue(tmp_path).recall("server") == record(**change)  # type: ignore[arg-type]  # the same


WHOLE = {"format": 1, "era": "legacy", "listed_at": NOON, "tools": [{"name": "a"}]}
DAMAGES = {
    "empty": b"",
    "blank": b" \n",
    "no JSON": b"gone",
    "cut": json.dumps(WHOLE).encode()[:-3],
    "more after the end": json.dumps(WHOLE).encode() + b"}",
    "no UTF-8": json.dumps(WHOLE).encode().replace(b'"a"', b'"\xff"'),
    "zeros": bytes(1000),
    "a list": b"[]",
    "another format": json.dumps(WHOLE | {"format": 2}).encode(),
    "no format": json.dumps({**WHOLE, "format": None}).encode(),
    "no tools": json.dumps({**WHOLE, "tools": None}).encode(),
    "tools of another kind": json.dumps(WHOLE | {"tools": ["a"]}).encode(),
    "a time of another kind": json.dumps(WHOLE | {"listed_at": "noon"}).encode(),
    "deep": b'{"format":1,"era":"legacy","listed_at":1,"tools":[' + b"[" * 100_000,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_record_is_none_and_is_repaired_by_the_next(tmp_path: Path, damage: bytes) -> None:
    kept(tmp_path, record()).write_bytes(damage)
    memory = Catalogue(tmp_path)
    assert memory.recall("server") is None
    memory.keep("server", record())
    assert memory.recall("server") == Catalogue(tmp_path).recall("server") == record()


def test_members_of_later_versions_are_no_damage(tmp_path: Path) -> None:
    kept(tmp_path, record()).write_text(json.dumps({**WHOLE, "later": 1}), encoding="utf-8")
    assert Catalogue(tmp_path).recall("server") == record(b'{"name": "a"}', info=b"")


def put_directory(path: Path) -> None:
    path.mkdir()


def put_fifo(path: Path) -> None:
    os.mkfifo(path)


def put_dangling_link(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


@pytest.mark.parametrize("put", [put_directory, put_fifo, put_dangling_link])
def test_something_else_in_its_place_is_done_without_and_replaced(tmp_path: Path, put: object) -> None:
    file = kept(tmp_path, record())
    file.unlink()
    assert callable(put)
    put(file)
    memory = Catalogue(tmp_path)
    assert memory.recall("server") is None
    memory.keep("server", record())
    assert memory.recall("server") == record()
    assert the_file(tmp_path).is_file()


def test_a_directory_that_holds_something_is_left_alone_and_no_draft_beside_it(tmp_path: Path) -> None:
    file = kept(tmp_path, record())
    file.unlink()
    (file / "inside").mkdir(parents=True)
    memory = Catalogue(tmp_path)
    memory.keep("server", record())
    assert memory.recall("server") is None
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can give a file away")
def test_the_file_of_another_user_is_not_believed(tmp_path: Path) -> None:
    os.chown(kept(tmp_path, record()), 12345, -1)
    assert Catalogue(tmp_path).recall("server") is None


def test_a_cache_that_cannot_be_written_is_complained_of_once_and_quietly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file", "ascii")
    memory = Catalogue(tmp_path / "cache")
    with caplog.at_level("DEBUG"):
        memory.keep("server", record())
        memory.keep("another", record())
    assert [line.levelname for line in caplog.records] == ["DEBUG"]
    assert memory.recall("server") is None


FULL_DISK = """
import resource, sys
import msgspec
from mcp_workbench.storage.catalogue import Record, Catalogue
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
large = Record((msgspec.Raw(b'{"name":"%b"}' % (b"x" * 100_000)),), msgspec.Raw(b""), "legacy", 1.0)
Catalogue(sys.argv[1]).keep("server", large)
"""


@pytest.mark.untraced
def test_a_disk_without_room_keeps_the_last_record_and_no_draft(tmp_path: Path) -> None:
    kept(tmp_path, record())
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert Catalogue(tmp_path).recall("server") == record()
    assert len(files(tmp_path)) == 1


def test_a_record_that_is_too_large_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "MAX_RECORD_BYTES", 50)
    memory = Catalogue(tmp_path)
    memory.keep("server", record(b'{"name":"%b"}' % (b"x" * 50)))
    assert files(tmp_path) == []
    kept(tmp_path, record()).write_bytes(json.dumps(WHOLE).encode() + b" " * 100)
    assert memory.recall("server") is None, "nor is such a file read"


def age(path: Path, seconds: float) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_records_that_were_not_used_for_long_are_dropped(tmp_path: Path) -> None:
    old = kept(tmp_path, record())
    draft, new_draft = (old.with_suffix(f".json.{digit * 12}.draft") for digit in "ab")
    draft.touch()
    new_draft.touch()
    age(old, UNUSED_SECONDS + 1)
    age(draft, FRESH_SECONDS + 1)
    memory = Catalogue(tmp_path)
    memory.keep("another", record())
    assert memory.recall("server") is None
    assert memory.recall("another") == record()
    assert new_draft in files(tmp_path)
    assert len(files(tmp_path)) == 2


def test_what_is_still_read_is_not_dropped(tmp_path: Path) -> None:
    file = kept(tmp_path, record())
    now = file.stat().st_mtime
    os.utime(file, (now, now - 2 * UNUSED_SECONDS))
    memory = Catalogue(tmp_path)
    memory.keep("another", record())
    assert memory.recall("server") == record()


def test_all_records_together_are_bounded_and_the_latest_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "MAX_CATALOGUE_BYTES", 5000)
    age(kept(tmp_path, record()), 1000)
    memory = Catalogue(tmp_path)
    for number in range(20):
        memory.keep(f"server {number}", record(b'{"name":"%b"}' % (b"x" * 1000)))
    sizes = [path.stat().st_size for path in files(tmp_path)]
    assert 0 < sum(sizes) <= 5000 + 1200
    assert memory.recall("server") is None
    assert memory.recall("server 19") is not None


WRITE_AND_READ_OFTEN = """
import sys, time
import msgspec
from mcp_workbench.storage.catalogue import Record, Catalogue
memory, mine = Catalogue(sys.argv[1]), sys.argv[2]
for turn in range(100):
    tools = tuple(msgspec.Raw(b'{"name":"%b"}' % mine.encode()) for _ in range(1 + turn * 3))
    memory.keep("server", Record(tools, msgspec.Raw(b""), mine, time.time()))
    for reader in (memory, Catalogue(sys.argv[1])):
        found = reader.recall("server")
        names = set() if found is None else {bytes(tool) for tool in found.tools}
        if found is None or names != {b'{"name":"%b"}' % found.protocol.encode()}:
            sys.exit(f"half a record was read: {found}")
"""


def test_processes_that_write_and_read_at_the_same_time_never_see_half_a_record(tmp_path: Path) -> None:
    names = ["a" * 10, "b" * 500, "c" * 100, "d" * 1000]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE_AND_READ_OFTEN, str(tmp_path), name], stderr=subprocess.PIPE
        )
        for name in names
    ]
    ends = [(writer.communicate(timeout=60)[1], writer.returncode) for writer in writers]
    assert ends == [(b"", 0)] * len(names)
    last = Catalogue(tmp_path).recall("server")
    assert last is not None
    assert (last.protocol in names, len(last.tools)) == (True, 298)
    assert len(files(tmp_path)) == 1


def test_a_tool_that_is_of_no_use_without_a_secret_is_left_out() -> None:
    tools = [b'{"name":"secret-word"}', b'{"name":"a","x":1234567}', b'{"name":"b"}', b'"no tool"']
    record = Record(tuple(map(msgspec.Raw, tools)), msgspec.Raw(b"1234567"), "legacy", 1.0)
    mask = Secrets({"secret-word": "<env A>", "1234567": "<env B>"}).mask
    assert masked(record, mask) == Record((msgspec.Raw(b'{"name":"b"}'),), ABSENT, "legacy", 1.0)


PROGRAM = ServerConfig(command="npx", args=["-y", "x", "s3cr3t-value"], cwd="/srv", env={"TOKEN": "hunter2"})
REMOTE = ServerConfig(url="https://x.example/s3cr3t-value", transport="http", headers={"X-Key": "hunter2"})


def masking(text: str) -> str:
    return text.replace("s3cr3t-value", "<env KEY>")


@pytest.mark.parametrize("config", [PROGRAM, REMOTE], ids=["program", "remote"])
def test_no_secret_is_part_of_what_a_record_is_found_by(config: ServerConfig) -> None:
    identity = identity_of(("dev", "files"), config, masking)
    assert "s3cr3t-value" not in identity
    assert "hunter2" not in identity


def other(config: ServerConfig, **changes: object) -> str:
    return identity_of(("dev", "files"), msgspec.structs.replace(config, **changes), masking)


def test_what_the_tools_may_depend_on_makes_it_another_record() -> None:
    changes: list[dict[str, object]] = [
        {},
        {"command": "uvx"},
        {"args": ["-y", "x"]},
        {"args": ["-y x"]},
        {"cwd": None},
        {"env": {"OTHER": "hunter2"}},
        {"inherit_env": True},
        {"inherit_env": ["GITHUB_*"]},
        {"protocol": "legacy"},
    ]
    identities = [other(PROGRAM, **change) for change in changes]
    identities += [other(REMOTE), other(REMOTE, transport="sse"), other(REMOTE, headers={})]
    identities += [identity_of(origin, PROGRAM, masking) for origin in (("ops", "files"), ("dev", "git"))]
    assert len(set(identities)) == len(identities)


def test_what_they_do_not_depend_on_does_not() -> None:
    same = {
        other(PROGRAM),
        other(PROGRAM, env={"TOKEN": "another"}),
        other(PROGRAM, tool_filters=["a"], timeout=1.0, startup_timeout=1.0, disabled=True, required=True),
        other(PROGRAM, call_limit=1, message_limit=65536, isolation="client"),
    }
    assert len(same) == 1
