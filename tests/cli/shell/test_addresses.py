"""A name leads to the one thing that it can mean, and otherwise to the things that it may mean."""

from __future__ import annotations

import msgspec
import pytest

from mcp_workbench.cli.shell.addresses import WrongAddress, resolve
from mcp_workbench.cli.shell.workbenches.http_workbench import ToldServer
from mcp_workbench.workbench.toolbox import Toolbox
from mcp_workbench.workbench.unconnected_server import UnusableServer

DEFINITION = msgspec.Raw(b"{}")


def toolbox(name: str, *disabled: str, **servers: list[str] | None) -> Toolbox:
    """A toolbox with disabled servers and others, of which the tools are known or not."""
    made = [
        UnusableServer((name, server), "", [], is_required=False)
        if tools is None
        else ToldServer(name, server, dict.fromkeys(tools, DEFINITION))
        for server, tools in servers.items()
    ]
    return Toolbox(name, "", made, disabled, open_deadline=1, listing_budget=1)


BOXES = {
    box.name: box
    for box in (
        toolbox(
            "dev", "mail", "my notes", files=["read", "write", "sub/read"], git=["log", "status"], new=None
        ),
        toolbox("ops", files=["read"], **{"a/b": ["c"], "a": ["b/c", "d"]}),
    )
}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("dev", ["dev"]),
        ("dev/", ["dev"]),
        ("dev/git", ["dev", "git"]),
        ("dev/git/", ["dev", "git"]),
        ("dev/git/log", ["dev", "git", "log"]),
        ("dev/files/sub/read", ["dev", "files", "sub/read"]),
        ("dev/new/whatever", ["dev", "new", "whatever"]),
        ("git/log", ["dev", "git", "log"]),
        ("dev/log", ["dev", "git", "log"]),
        ("log", ["dev", "git", "log"]),
        ('{"toolbox": "ops", "server": "a/b", "tool": "c"}', ["ops", "a/b", "c"]),
        ('{"toolbox": "ops", "server": "a", "tool": "b/c"}', ["ops", "a", "b/c"]),
        ('{"toolbox": "dev", "server": "new", "tool": "any"}', ["dev", "new", "any"]),
    ],
)
def test_a_name_is_found_whole_or_in_short(text: str, names: list[str]) -> None:
    assert resolve(text, BOXES).names == names


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("dve", "there is no toolbox or tool 'dve'. Did you mean: dev?"),
        ("zzz", "there is no toolbox or known tool 'zzz'. There are: dev, ops. Not all tools are known: "),
        ("statsu", "there is no toolbox or tool 'statsu'. Did you mean: dev/git/status?"),
        ("dev/gti", "there is no server or tool 'dev/gti'. Did you mean: dev/git?"),
        ("dev/mail/send", "the server dev/mail is disabled. To use it: mcp-workbench enable dev/mail"),
        ("dev/mail", "the server dev/mail is disabled. To use it: mcp-workbench enable dev/mail"),
        (
            '{"toolbox": "dev", "server": "my notes", "tool": "read"}',
            "the server dev/my notes is disabled. To use it: mcp-workbench enable 'dev/my notes'",
        ),
        ("dev/mailbox", "there is no server or tool 'dev/mailbox'. "),
        ("dev/git/lgo", "dev/git has no tool 'lgo'. Did you mean: dev/git/log?"),
        ("dev/git/x", "dev/git has no tool 'x'. There are: dev/git/log, dev/git/status"),
        (
            "read",
            (
                "'read' can mean several things. Name one of them:\n"
                '  dev/files/read, as \'{"toolbox":"dev","server":"files","tool":"read"}\'\n'
                '  ops/files/read, as \'{"toolbox":"ops","server":"files","tool":"read"}\''
            ),
        ),
        (
            "ops/a/b/c",
            (
                "'ops/a/b/c' can mean several things. Name one of them:\n"
                '  ops/a/b/c, as \'{"toolbox":"ops","server":"a/b","tool":"c"}\'\n'
                '  ops/a/b/c, as \'{"toolbox":"ops","server":"a","tool":"b/c"}\''
            ),
        ),
        ('{"toolbox": "dve"}', "there is no toolbox or tool 'dve'. Did you mean: dev?"),
        (
            '{"toolbox": "dev", "server": "git", "tool": "lgo"}',
            "dev/git has no tool 'lgo'. Did you mean: dev/git/log?",
        ),
        ('{"tool": "x"}', "this is not an object such as "),
    ],
)
def test_a_name_that_leads_nowhere_or_to_several_things_is_explained(text: str, answer: str) -> None:
    with pytest.raises(WrongAddress) as wrong:
        resolve(text, BOXES)
    assert str(wrong.value).startswith(answer)
