"""YAML files, such as Goose and Continue have them: every byte that is not concerned stays."""

from __future__ import annotations

import pytest

from mcp_workbench.config.documents import Path, open_document
from mcp_workbench.config.documents.yaml_text import MAX_YAML_BYTES
from mcp_workbench.errors import DocumentError
from tests.config.documents.editing import SERVER, edited, lines_changed

CONTINUE = """%YAML 1.2
---
# top
name:   x   # nm
mcpServers:
- name: a   # first
  command: 'npx'
  args:
  - -y
# about b
- name: "b"
  env: {A: 1, B: "2"}
  empty:   # nothing
  text: |
    # not a comment
    x

  # inner foot

# last
other: &o [1,   2]
again: *o
...
"""

GOOSE = """extensions:
    dev:   # builtin
        type: builtin
        enabled: true
    foo:
        cmd: npx
        args: []
GOOSE: x"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_a_new_member_takes_over_the_indentation_and_leaves_as_it_came(newline: str, bom: str) -> None:
    before = bom + GOOSE.replace("\n", newline)
    after = edited("yaml", before, ("set", ("extensions", "wb"), SERVER))
    assert lines_changed(before, after) == [
        "+    wb:",
        "+        command: npx",
        "+        args:",
        '+          - "-y"',
        '+          - "@scope/server"',
        "+        env:",
        '+            KEY: "ü"',
    ]
    assert after.count("\r") == (14 if newline == "\r\n" else 0)
    assert edited("yaml", after, ("remove", ("extensions", "wb"))) == before


def test_a_new_item_takes_over_the_column_of_the_dashes_and_leaves_as_it_came() -> None:
    after = edited("yaml", CONTINUE, ("append", ("mcpServers",), {"name": "wb", **SERVER}))
    assert lines_changed(CONTINUE, after) == [
        "+- name: wb",
        "+  command: npx",
        "+  args:",
        '+  - "-y"',
        '+  - "@scope/server"',
        "+  env:",
        '+    KEY: "ü"',
    ]
    assert edited("yaml", after, ("remove", ("mcpServers", 2))) == CONTINUE


@pytest.mark.parametrize(
    ("path", "value", "lines"),
    [
        (("name",), "y: z", ["-name:   x   # nm", '+name: "y: z"   # nm']),
        (("mcpServers", 0, "args", 0), "-n", ["-  - -y", '+  - "-n"']),
        (("mcpServers", 1, "env", "C"), [0], ['-  env: {A: 1, B: "2"}', '+  env: {A: 1, B: "2", C: [0]}']),
        (("mcpServers", 1, "env", "A"), 3, ['-  env: {A: 1, B: "2"}', '+  env: {A: 3, B: "2"}']),
        (("mcpServers", 1, "empty", "x"), 1, ["+    x: 1"]),
        (("mcpServers", 1, "empty"), 1, ["-  empty:   # nothing", "+  empty: 1   # nothing"]),
        (("mcpServers", 1, "text"), "t", ["-  text: |", "-    # not a comment", "-    x", "+  text: t"]),
        (("mcpServers", 0, "args"), {}, ["-  args:", "-  - -y", "+  args: {}"]),
        (("mcpServers", 0, "args"), {"a": 1}, ["-  - -y", "+    a: 1"]),
        (("new",), {"a": [{"b": [[]]}]}, ["+new:", "+  a:", "+  - b:", "+    - []"]),
    ],
)  # fmt: skip
def test_only_the_lines_of_a_value_change(path: Path, value: object, lines: list[str]) -> None:
    assert lines_changed(CONTINUE, edited("yaml", CONTINUE, ("set", path, value))) == lines


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        (("mcpServers", 0), ["-- name: a   # first", "-  command: 'npx'", "-  args:", "-  - -y"]),
        (("mcpServers", 0, "name"), ["-- name: a   # first", "-  command: 'npx'", "+- command: 'npx'"]),
        (("mcpServers", 0, "args", 0), ["-  args:", "-  - -y", "+  args: []"]),
        (("mcpServers", 1, "env", "A"), ['-  env: {A: 1, B: "2"}', '+  env: {B: "2"}']),
        (("again",), ["-again: *o"]),
        (("name",), ["-# top", "-name:   x   # nm"]),
    ],
)
def test_only_the_lines_of_a_removed_value_go(path: Path, lines: list[str]) -> None:
    assert lines_changed(CONTINUE, edited("yaml", CONTINUE, ("remove", path))) == lines


def test_comments_inside_of_a_removed_item_go_and_those_of_the_next_stay() -> None:
    after = edited("yaml", CONTINUE, ("remove", ("mcpServers", 1)))
    assert "# about b" not in after
    assert "# inner foot" not in after
    assert "\n\n# last\nother: &o" in after


@pytest.mark.parametrize(
    "source",
    [
        "",
        "# c\n",
        "---\n",
        "# c\n---\n# d",
        "{}\n",
        "{}",
        "s: {}\n",
        "s:\n",
        "s: ~\n",
        "s: # c\n",
        "x: |+\n  a\n\n",
    ],
)
def test_the_first_server_goes_into_every_kind_of_empty_file(source: str) -> None:
    document = open_document("yaml", source.encode())
    document.set(("s", "wb"), SERVER)
    assert document.data["s"] == {"wb": SERVER}
    document.remove(("s", "wb"))
    assert document.data["s"] == {}


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "No",
        "on",
        "null",
        "~",
        "1",
        "1.5",
        "0x1",
        "1e3",
        "2020-01-01",
        "1:30",
        "a: b",
        "a #b",
        " a",
        "- a",
        "@a",
        "*a",
        "",
        "a\nb",
        "\x7f\x85\u2028\ufeff",
        "ü",
        "🚀",
        "{a}",
        "a, b",
        "<<",
        "=",
    ],
)
def test_any_string_is_read_again_as_a_string(text: str) -> None:
    document = open_document("yaml", b"")
    document.set(("a",), {text: [text, {"b": text}]})
    assert open_document("yaml", document.encode()).data == {"a": {text: [text, {"b": text}]}}


def test_what_an_alias_or_a_merge_key_brings_is_read_but_not_edited() -> None:
    source = "base: &b\n  x: 1\ns:\n  <<: *b\n  y: 2\nt: *b\n"
    document = open_document("yaml", source.encode())
    assert document.data == {"base": {"x": 1}, "s": {"x": 1, "y": 2}, "t": {"x": 1}}
    for edit in [
        ("set", ("t", "z"), 1),
        ("remove", ("s", "x")),
        ("set", ("base", "x"), 2),
        ("remove", ("base",)),
    ]:
        with pytest.raises(DocumentError):
            edited("yaml", source, edit)
    assert lines_changed(source, edited("yaml", source, ("set", ("s", "z"), 3))) == ["+  z: 3"]


def test_tags_never_build_objects() -> None:
    source = (
        b"a: !!python/object/apply:os.system [exit]\nb: !mine {c: 1}\nc: !!int x\n"
        b"d: !!str 1\ne: 2020-01-01\nf: .inf\n"
    )
    document = open_document("yaml", source)
    assert document.data == {"a": ["exit"], "b": {"c": 1}, "c": "x", "d": "1", "e": "2020-01-01", "f": ".inf"}
    document.set(("g",), 1)
    assert document.encode() == source + b"g: 1\n"


def test_aliases_that_stand_for_too_much_are_refused() -> None:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    long = f"a0: &a0 {'x' * 100_000}\nb: [{', '.join(['*a0'] * 100)}]\n"
    for source in ("a0: &a0 lol\n" + levels, long):
        with pytest.raises(DocumentError, match="the aliases in the file stand for too much text"):
            open_document("yaml", source.encode())


def test_a_file_that_would_take_too_long_is_refused() -> None:
    with pytest.raises(DocumentError, match="the file is larger than 1 MiB"):
        open_document("yaml", b"a: 1\n" + b"#" * MAX_YAML_BYTES)


FLOW = """extensions: {
  a: {cmd: x}, # the first
  # about b
  b: {cmd: 'y'}, # the second
}
"""


@pytest.mark.parametrize(
    ("name", "lines"),
    [("a", ["-  a: {cmd: x}, # the first"]), ("b", ["-  b: {cmd: 'y'}, # the second"])],
)
def test_the_other_members_between_braces_keep_their_comments(name: str, lines: list[str]) -> None:
    assert lines_changed(FLOW, edited("yaml", FLOW, ("remove", ("extensions", name)))) == lines


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("e: {a: 'x', b: 'y'} # c\n", "e: {b: 'y'} # c\n"),
        ("e: {b: 'y', a: 'x'} # c\n", "e: {b: 'y'} # c\n"),
        ("e: {b: 'y', a: 'x', }\n", "e: {b: 'y', }\n"),
        ("e: {a: x, }\n", "e: { }\n"),
        ("e: {a: x}\n", "e: {}\n"),
    ],
)
def test_a_member_on_the_line_of_others_goes_alone(source: str, after: str) -> None:
    assert edited("yaml", source, ("remove", ("e", "a"))) == after


def test_a_new_member_between_braces_goes_before_the_comments_at_their_end() -> None:
    after = edited("yaml", FLOW, ("set", ("extensions", "c"), {"cmd": "z"}))
    assert lines_changed(FLOW, after) == [
        "-  b: {cmd: 'y'}, # the second",
        "+  b: {cmd: 'y'}, c: {cmd: z}, # the second",
    ]


@pytest.mark.parametrize("mark", ["&all", "!!map", "&all # c"])
def test_a_new_member_goes_into_a_mapping_with_an_anchor_or_a_tag(mark: str) -> None:
    before = f"extensions: {mark}\n  a:\n    cmd: x\n"
    after = edited("yaml", before, ("set", ("extensions", "b"), {"cmd": "z"}))
    assert lines_changed(before, after) == ["+  b:", "+    cmd: z"]


def test_a_new_item_goes_into_a_list_with_an_anchor() -> None:
    before = "mcpServers: &all\n- name: a\nz: 1\n"
    after = edited("yaml", before, ("append", ("mcpServers",), {"name": "b"}))
    assert lines_changed(before, after) == ["+- name: b"]


def test_an_alias_does_not_tell_the_indentation() -> None:
    before = "base: &b\n  cmd: x\nextensions:\n  a: *b\n  c: &c\n    cmd: y\n"
    after = edited("yaml", before, ("set", ("extensions", "d"), {"cmd": "z"}))
    assert lines_changed(before, after) == ["+  d:", "+    cmd: z"]


def test_an_edit_that_would_break_the_file_is_not_called_a_mistake_in_it() -> None:
    document = open_document("yaml", b"extensions: &e {}\nother: *e\n")
    with pytest.raises(DocumentError, match="the file cannot be edited in place"):
        document.set(("extensions", "a"), {"cmd": "x"})
