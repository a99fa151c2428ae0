"""The lock is readable, has the same bytes for the same content, and its mistakes are named by line."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_workbench.errors import LockUnusable
from mcp_workbench.storage.trust.lock_file import (
    FILE_NAME,
    Lock,
    LockedServer,
    LockedTool,
    decode_lock,
    encode_lock,
    lock_path,
    lock_stamp,
    read_lock,
)

if TYPE_CHECKING:
    from pathlib import Path

IDENTITY = "sha256:" + "0" * 64


def digest_of(definition: msgspec.Raw) -> str:
    """Return a digest that does not depend on the order of keys."""
    canonical = json.dumps(json.loads(bytes(definition)), sort_keys=True)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def tool(name: str, hints: dict[str, bool] | None = None, **members: object) -> LockedTool:
    raw = msgspec.Raw(json.dumps({"name": name, **members}).encode())
    return LockedTool(definition=raw, digest=digest_of(raw), hints=hints or {})


def server(*tools: LockedTool, instructions: str = "", program: str = "npx -y fs") -> LockedServer:
    named = {json.loads(bytes(one.definition))["name"]: one for one in tools}
    return LockedServer(identity=IDENTITY, program=program, instructions=instructions, tools=named)


LOCK: Lock = {
    ("dev", "fs"): server(
        tool("write", {"readOnlyHint": False}, description="Write a file", inputSchema={"type": "object"}),
        tool("read", {"readOnlyHint": True}, description="Read a file", title="Read"),
        instructions="Paths are absolute.",
    )
}


def mistakes(data: bytes | str) -> list[tuple[str, str, int | None]]:
    with pytest.raises(LockUnusable) as caught:
        decode_lock(FILE_NAME, data if isinstance(data, bytes) else data.encode(), digest_of)
    return [(problem.where, problem.what, problem.line) for problem in caught.value.problems]


def edited(old: str, new: str) -> str:
    text = encode_lock(LOCK).decode()
    assert old in text
    return text.replace(old, new, 1)


def test_the_file_is_readable_and_sorted() -> None:
    text = encode_lock(LOCK).decode().replace(IDENTITY, "<identity>")
    for name, one in LOCK["dev", "fs"].tools.items():
        text = text.replace(one.digest, f"<{name}>")
    assert (
        text
        == """{
  "version": 1,
  "toolboxes": {
    "dev": {
      "fs": {
        "identity": {
          "program": "npx -y fs",
          "digest": "<identity>"
        },
        "instructions": "Paths are absolute.",
        "tools": {
          "read": {
            "definition": {
              "description": "Read a file",
              "name": "read",
              "title": "Read"
            },
            "hints": {
              "readOnlyHint": true
            },
            "digest": "<read>"
          },
          "write": {
            "definition": {
              "description": "Write a file",
              "inputSchema": {
                "type": "object"
              },
              "name": "write"
            },
            "hints": {
              "readOnlyHint": false
            },
            "digest": "<write>"
          }
        }
      }
    }
  }
}
"""
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(name=st.text(), schema=JSON, text=st.text(st.characters()))
def test_any_definition_survives_and_has_the_same_bytes_again(name: str, schema: object, text: str) -> None:
    lock = {(name, text): server(tool(name, description=text, inputSchema=schema), instructions=text)}
    data = encode_lock(lock)
    again = decode_lock(FILE_NAME, data, digest_of)
    assert encode_lock(again) == data
    assert again.keys() == lock.keys()
    assert again[name, text].instructions == text


def test_one_change_of_a_tool_changes_two_lines() -> None:
    other = {
        ("dev", "fs"): msgspec.structs.replace(
            LOCK["dev", "fs"],
            tools=LOCK["dev", "fs"].tools
            | {"read": tool("read", {"readOnlyHint": True}, description="Reads", title="Read")},
        )
    }
    before, after = encode_lock(LOCK).decode().splitlines(), encode_lock(other).decode().splitlines()
    assert [new.split(":")[0].strip() for old, new in zip(before, after, strict=True) if old != new] == [
        '"description"',
        '"digest"',
    ]


def test_characters_that_nobody_sees_are_visible_in_the_file() -> None:
    hidden = "a\x1b[2Jb\u202ec\u200bd\U000e0041e\ud800f\xadg\x85h\ufeff"
    data = encode_lock({("dev", "fs"): server(tool("t", description=hidden), program=hidden)})
    text = data.decode()
    assert all(character.isprintable() or character == "\n" for character in text)
    assert r"a\u001b[2Jb\u202ec\u200bd\udb40\udc41e\ud800f\u00adg\u0085h\ufeff" in text
    assert encode_lock(decode_lock(FILE_NAME, data, digest_of)) == data
    assert "Größe 日本語 🙂" in encode_lock({("d", "s"): server(program="Größe 日本語 🙂")}).decode()


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity"])
def test_a_number_that_is_not_json_is_refused(number: str) -> None:
    raw = msgspec.Raw(b'{"name": "t", "maximum": %s}' % number.encode())
    with pytest.raises(ValueError, match="a number that JSON cannot hold"):
        encode_lock({("d", "s"): server(LockedTool(definition=raw, digest=IDENTITY))})


def test_a_definition_edited_by_hand_is_a_mistake_with_its_line() -> None:
    what = "the digest does not fit the definition, so one of them was edited by hand"
    assert mistakes(edited("Read a file", "Read any file")) == [
        ("toolboxes.dev.fs.tools.read.digest", what, 21)
    ]
    # White space between the values is no part of them.
    compact = json.dumps(json.loads(encode_lock(LOCK))).encode()
    assert encode_lock(decode_lock(FILE_NAME, compact, digest_of)) == encode_lock(LOCK)


@pytest.mark.parametrize(
    ("old", "new", "where", "what", "line"),
    [
        ('"version": 1', '"version": "1"', "version", "this should be 1", 2),
        ('"version": 1,\n', "", "version", "this should be 1", 1),
        (
            '"version": 1',
            '"version": 2',
            "version",
            "the file has version 2 of the format, and this program knows version 1",
            2,
        ),
        ('"toolboxes"', '"toolboxs"', "toolboxs", "no key of the lock has this name", 3),
        (
            '"title": "Read"',
            '"title": "Read", "title": "R"',
            "toolboxes.dev.fs.tools.read.definition.title",
            "this key is written 2 times in the same object, and only one can count",
            16,
        ),
        (
            '"name": "read"',
            '"name": "other"',
            "toolboxes.dev.fs.tools.read.definition.name",
            'this should be the name of the tool, "read"',
            15,
        ),
        (
            '"readOnlyHint": true',
            '"readOnlyHint": 1',
            "toolboxes.dev.fs.tools.read.hints.readOnlyHint",
            "this should be true or false",
            19,
        ),
        (
            '"instructions": "Paths are absolute."',
            '"instructions": 7',
            "toolboxes.dev.fs.instructions",
            "this should be a string",
            10,
        ),
        (
            IDENTITY,
            "sha256:0",
            "toolboxes.dev.fs.identity.digest",
            "this should be sha256: and 64 hexadecimal digits",
            8,
        ),
        ('"tools": {', '"tools": ', "line 12, column 17", "invalid JSON: a comma is missing before this", 12),
        (
            '"hints": {',
            '"hint": {',
            "toolboxes.dev.fs.tools.read.hint",
            "no key of the lock has this name",
            18,
        ),
    ],
)
def test_every_mistake_is_named_by_place_and_line(
    old: str, new: str, where: str, what: str, line: int
) -> None:
    assert (where, what, line) in mistakes(edited(old, new))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff\xfe{",
        b"{",
        b'{"version": 1}',
        b'{"version": 1, "toolboxes": {"a": 1}}',
        b"[" * 100_000,
    ]
    + [
        b'{"version": 1, "toolboxes": {"a": {"s": %s}}}' % wrong
        for wrong in (b"{}", b"[]", b'{"tools": {"t": {}}}')
    ],
)
def test_damage_is_reported_and_never_a_crash(data: bytes) -> None:
    assert mistakes(data)


def test_a_merge_conflict_is_recognised() -> None:
    conflict = edited('            "definition": {', "<<<<<<< HEAD\n=======\n>>>>>>> other\n")
    assert mistakes(conflict) == [("line 13", "the file has a merge conflict", 13)]


def test_no_file_is_no_lock_and_a_link_to_nothing_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    assert read_lock(str(path), digest_of) is None
    assert lock_stamp(str(path)) is None
    path.symlink_to("nowhere")
    assert lock_stamp(str(path)) is not None
    with pytest.raises(LockUnusable, match="leads to no file"):
        read_lock(str(path), digest_of)
    path.unlink()
    path.write_bytes(encode_lock(LOCK))
    assert read_lock(str(path), digest_of) is not None
    assert lock_stamp(str(path)) is not None


def test_the_lock_is_beside_the_real_configuration(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "workbench-config.json").write_text("{}")
    link = tmp_path / "link.json"
    link.symlink_to("real/workbench-config.json")
    assert lock_path(link) == os.path.realpath(tmp_path / "real" / FILE_NAME)
