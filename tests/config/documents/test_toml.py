"""TOML files, such as Codex has them: tables come and go with their own lines only."""

from __future__ import annotations

import tomllib

import pytest

from mcp_workbench.config.documents import Path, open_document
from mcp_workbench.errors import DocumentError
from tests.config.documents.editing import SERVER, edited, lines_changed

FILE = '''# my file
model = "o3"   # best

[mcp_servers.a]
command = "x"
args = [
    "one", # 1
    "two",
]
# end of a

# about b
[mcp_servers."b.c"]
command="y"
env = { "K" = "v", L = 'x' }
  [mcp_servers."b.c".sub]
  deep.er = """a
[not] # a header
"""

# profiles
[[profiles]]
name = "p"
[profiles.x]
q = 1
[[profiles]]
when = 1979-05-27 07:32:00
'''

ENV = "env = { \"K\" = \"v\", L = 'x'"
NEW = [
    "[mcp_servers.wb]",
    'command = "npx"',
    'args = ["-y", "@scope/server"]',
    "",
    "[mcp_servers.wb.env]",
    'KEY = "ü"',
]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_a_new_table_goes_behind_its_neighbours_and_leaves_as_it_came(newline: str, bom: str) -> None:
    before = bom + FILE.replace("\n", newline)
    after = edited("toml", before, ("set", ("mcp_servers", "wb"), SERVER))
    place = after.index(f"{newline}{newline}# profiles")
    assert after[:place].endswith(newline.join(['"""', "", *NEW]))
    assert after.replace(newline.join([*NEW, "", ""]), "") == before
    assert edited("toml", after, ("remove", ("mcp_servers", "wb"))) == before


@pytest.mark.parametrize(
    "source",
    [
        "",
        "# only a comment\n",
        "x = 1",
        "[mcp_servers]\n",
        '[mcp_servers]\na = { command = "x" }\n\n[z]\n',
        'mcp_servers.a.command = "x"\r\ny = 1\r\n\r\n[z]\r\n',
        "mcp_servers = {}\n",
        "[mcp_servers.a]\n[mcp_servers.b]\n[z]\n",
        "[mcp_servers.a]\n\n[z]\n\n[mcp_servers.b]\nx=1",
        "[mcp_servers]\n# a comment at the end",
    ],
)
def test_a_server_comes_and_goes_in_every_kind_of_file(source: str) -> None:
    document = open_document("toml", source.encode())
    document.set(("mcp_servers", "wb"), SERVER)
    assert tomllib.loads(document.encode().decode())["mcp_servers"]["wb"] == SERVER
    assert {line[0] for line in lines_changed(source, document.encode().decode())} <= {"+"} or "{}" in source
    document.remove(("mcp_servers", "wb"))
    assert document.encode().decode() == source


@pytest.mark.parametrize(
    ("path", "value", "lines"),
    [
        (("model",), "o4", ['-model = "o3"   # best', '+model = "o4"   # best']),
        (("top",), [1, {"a": 2}], ["+top = [1, { a = 2 }]"]),
        (("mcp_servers", "a", "enabled"), False, ["+enabled = false"]),
        (("mcp_servers", "flag"), True, ["+", "+[mcp_servers]", "+flag = true"]),
        (("mcp_servers", "b.c", "env", "M"), 1, [f"-{ENV} }}", f"+{ENV}, M = 1 }}"]),
        (("mcp_servers", "b.c", "sub", "deep", "x y"), 1, ['+  deep."x y" = 1']),
        (("profiles", 0, "x", "z"), 2, ["+z = 2"]),
        (("profiles", 0, "y"), {"z": 2}, ["+[profiles.y]", "+z = 2"]),
        (("profiles", 1, "when"), "now", ["-when = 1979-05-27 07:32:00", '+when = "now"']),
    ],
)  # fmt: skip
def test_only_the_lines_of_a_value_change(path: Path, value: object, lines: list[str]) -> None:
    assert lines_changed(FILE, edited("toml", FILE, ("set", path, value))) == lines


@pytest.mark.parametrize(
    ("path", "first", "last"),
    [
        (("mcp_servers", "a"), "[mcp_servers.a]", "# end of a"),
        (("mcp_servers", "b.c"), "# about b", '"""'),
        (("mcp_servers",), "[mcp_servers.a]", '"""'),
        (("profiles", 0), "# profiles", "q = 1"),
    ],
)
def test_a_removed_table_takes_its_own_comments_and_no_others(path: Path, first: str, last: str) -> None:
    lines = FILE.splitlines()
    block = lines[lines.index(first) : lines.index(last) + 1]
    gone = lines_changed(FILE, edited("toml", FILE, ("remove", path)))
    assert [line[1:] for line in gone if line != "-"] == [line for line in block if line]


def test_items_of_an_array_keep_their_lines_and_comments() -> None:
    path = ("mcp_servers", "a", "args")
    assert lines_changed(FILE, edited("toml", FILE, ("append", path, "three"))) == ['+    "three",']
    assert lines_changed(FILE, edited("toml", FILE, ("remove", (*path, 1)))) == ['-    "two",']


def test_tables_are_appended_to_an_array_of_tables() -> None:
    after = edited("toml", FILE, ("append", ("profiles",), {"name": "n"}))
    assert lines_changed(FILE, after) == ["+", "+[[profiles]]", '+name = "n"']
    assert edited("toml", after, ("remove", ("profiles", 2))) == FILE


def test_a_moved_table_leaves_its_place() -> None:
    document = open_document("toml", FILE.encode())
    value = document.data["mcp_servers"]
    assert isinstance(value, dict)
    document.move(("mcp_servers", "a"), ("other", "a"))
    assert document.data["other"] == {"a": value["a"]}
    assert document.data["mcp_servers"] == {"b.c": value["b.c"]}


def test_a_long_list_takes_a_line_for_each_item() -> None:
    after = edited("toml", "", ("set", ("args",), ["x" * 60, "y" * 60]))
    assert after == f'args = [\n    "{"x" * 60}",\n    "{"y" * 60}",\n]\n'


def test_dates_are_strings_and_stay_dates_in_the_file() -> None:
    document = open_document("toml", b"a = 2020-01-01\nb = 07:32:00\nc = inf\n")
    assert document.data == {"a": "2020-01-01", "b": "07:32:00", "c": "inf"}
    document.set(("a",), "2020-01-01")
    document.set(("d",), 1)
    assert document.encode() == b"a = 2020-01-01\nb = 07:32:00\nc = inf\nd = 1\n"


def test_a_null_is_refused() -> None:
    with pytest.raises(DocumentError, match="TOML has no null"):
        edited("toml", FILE, ("set", ("mcp_servers", "a", "env"), {"A": None}))
