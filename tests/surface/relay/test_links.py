"""The URIs in results, found in their bytes: all that a parser of JSON would find, and nothing else."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.config import InlineConfig
from mcp_workbench.surface.relay import links
from mcp_workbench.surface.relay.links import LONG_BYTES, MAX_URI_BYTES, WINDOW_BYTES
from tests.serve.relayed import Relayed, arrived, written
from tests.support.waiting import poll

if TYPE_CHECKING:
    from pathlib import Path

HERE = ("dev", "files")


class Client(Relayed):
    """A client that gets results of one server."""

    def result(self, raw: str) -> None:
        """Let the server answer a call with this result."""
        self.request()()
        self.server_says(arrived(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (self.latest_id, raw.encode())))

    async def answered(self) -> str:
        """The result that the client gets."""
        await poll(lambda: bool(self.to_client) and b'"hello"' not in written(self.to_client[-1]))
        line = written(self.to_client[-1]).decode()
        return line[line.index('"result":') + len('"result":') : -2]

    def knows(self, uri: str) -> bool:
        return self.view.emitted.origins(uri) == [HERE]


@pytest.fixture
async def client(tmp_path: Path) -> Client:
    return Client(tmp_path, modern=False)


def uris_in(value: Any) -> list[str]:
    """Every text under the key `uri`, as a parser finds it."""
    if isinstance(value, list):
        return [uri for item in value for uri in uris_in(item)]
    if not isinstance(value, dict):
        return []
    own = [item for key, item in value.items() if key == "uri" and isinstance(item, str)]
    return own + [uri for item in value.values() for uri in uris_in(item)]


URIS = ["a:1", 'b:"', "c:\\", "d:ü"]
TEXTS = st.sampled_from(["uri", "ur", '"uri":"a:1"', '\\"uri', "", "{", "\\u0075ri", *URIS])
VALUES = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@given(value=st.dictionaries(TEXTS, VALUES), indent=st.sampled_from([None, 1]), is_ascii=st.booleans())
def test_what_a_parser_finds_is_remembered(
    tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any], indent: int | None, is_ascii: bool
) -> None:
    async def look() -> None:
        client = Client(tmp_path_factory.getbasetemp(), modern=False)
        raw = json.dumps(value, indent=indent, ensure_ascii=is_ascii).replace("\n", " ")
        client.result(raw)
        assert await client.answered() == raw
        found = {uri for uri in uris_in(value) if ":" in uri[1:] and uri[0].isalpha()}
        known = {uri for uri in URIS if client.knows(uri)}
        assert known == found

    asyncio.run(look())


@pytest.mark.parametrize("key", ["uri", "\\u0075ri", "u\\u0072i", "ur\\u0069", "\\u0075\\u0072\\u0069"])
@pytest.mark.parametrize("gap", ["", " ", b"\\t".decode("unicode_escape") * 50])
async def test_a_key_may_be_written_in_any_way(client: Client, key: str, gap: str) -> None:
    client.result(f'{{"content":[{{"{key}"{gap}:{gap}"x:y"}}]}}')
    assert client.knows("x:y")


async def test_a_link_is_found_wherever_it_stands_in_a_long_result(client: Client) -> None:
    for before in (*range(WINDOW_BYTES - 40, WINDOW_BYTES + 3), LONG_BYTES):
        members = f'"\\u0075r\\u0069":"workbench:other/x/y:z","uri":"x:{before}"'
        raw = f'{{"x":"{"~" * before}",{members}}}'
        client.to_client.clear()
        client.result(raw)
        assert await client.answered() == raw.replace("workbench:", "workbench:dev/files/workbench:")
        assert client.knows(f"x:{before}")


async def test_half_a_surrogate_pair_is_compared_as_it_comes_back(client: Client) -> None:
    client.result('{"uri":"x:\\ud800","content":[{"uri":"workbench:a/b/x:\\udfff"}]}')
    assert client.knows("x:�")
    assert '"workbench:dev/files/workbench:a/b/x:\\ufffd"' in await client.answered()


@pytest.mark.parametrize("fill", ["y", "\\u0079", "\\n", "ü", "\\ud83d\\ude00", "y\\ud83d\\ude00", "\\\\"])
async def test_a_uri_that_is_too_long_is_not_remembered_but_kept_to_its_server(
    client: Client, fill: str
) -> None:
    long = fill * (MAX_URI_BYTES + 1)
    raw = '{"uri":"x:%s","content":[{"uri":"workbench:a/b/x:%s"},{"uri":"%sworkbench:a/b/c:d"}]}'
    raw %= long, long, "\\t" * MAX_URI_BYTES * 6
    client.result(raw)
    expected = raw.replace('"workbench:', '"workbench:dev/files/workbench:').replace(
        '"\\t', '"workbench:dev/files/\\t'
    )
    assert await client.answered() == expected
    client.client_says(
        b'{"jsonrpc":"2.0","id":"r","method":"resources/read","params":{"uri":"x:%b"}}' % (b"y" * 9000)
    )
    assert b"is too long to be looked for" in written(client.to_client[-1])


@pytest.mark.parametrize("modern_server", [False, True])
async def test_a_modern_client_gets_the_result_stamped_and_its_links_kept(
    tmp_path: Path, modern_server: bool
) -> None:
    client = Client(tmp_path, modern=True, modern_server=modern_server)
    client.result('{"_meta":{"uri":"workbench:a/b/x:y"},"uri":"x:y"}')
    result = json.loads(await client.answered())
    assert (result["resultType"], result["uri"]) == ("complete", "x:y")
    assert result["_meta"]["uri"] == "workbench:dev/files/workbench:a/b/x:y"


async def test_a_long_result_with_links_is_kept_once(tmp_path: Path) -> None:
    client = Client(tmp_path, modern=False, results=InlineConfig(inline_limit=1000))
    link = {"type": "resource_link", "name": "x", "uri": "x:y"}
    client.result(json.dumps({"content": [link, {"type": "text", "text": "~" * 100_000}]}))
    result = json.loads(await client.answered())
    assert result["content"][0] == link
    assert len(result["content"][1]["text"]) < 2000
    assert client.knows("x:y")


async def test_other_calls_go_on_while_a_result_full_of_links_is_looked_through(client: Client) -> None:
    many = ",".join(f'{{"uri":"x:{number}"}}' for number in range(20_000))
    client.result(f'{{"content":[{many}]}}')
    assert len(client.to_client) == 1
    client.result('{"content":[]}')
    assert b'"content":[]' in written(client.to_client[1])
    await poll(lambda: len(client.to_client) > 2)
    assert client.view.emitted.incomplete == {HERE}


async def test_a_call_that_is_cancelled_meanwhile_gets_no_answer(client: Client) -> None:
    client.result('{"x":"%s","uri":"x:y"}' % ("~" * LONG_BYTES))
    client.client_says(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
    assert len(client.to_client) == 1


@pytest.mark.parametrize("key", [b'"uri"', rb'"\u0075ri"', rb'"u\u0072i"', rb'"ur\u0069"', b'"uri" '])
@pytest.mark.parametrize("size", [5_000, 40_000, 500_000])
@pytest.mark.parametrize(
    "filling",
    [
        b"plain text ",
        rb"\u00e9",
        rb"quoted \"text\" ",
        rb"a\\",
        rb"\\\\\\\\\\\\\\\\\"",
        b"\xc3\xa9",
        rb"\u001b[0m ",
    ],
)
def test_a_uri_is_never_overlooked_behind_a_long_text(key: bytes, size: int, filling: bytes) -> None:
    text = filling * (size // len(filling) + 1)
    head = b'{"content":[{"type":"text","text":"%b"},' % text
    link = b'{"type":"resource_link",%b:"file:///a"}]}' % key
    assert links.may_hold_uris(msgspec.Raw(head + link))
    assert not links.may_hold_uris(msgspec.Raw(head + b'{"type":"image"}]}'))


def test_a_zero_in_a_result_hides_nothing_behind_it() -> None:
    result = b'{"content":[{"text":"\0%b"},{"uri":"x:y"}]}' % (b"~" * links.SHORT_BYTES)
    assert links.may_hold_uris(msgspec.Raw(result))


@given(st.text(st.sampled_from('ab"\\u0 ')), st.booleans())
def test_whatever_stands_in_a_text_its_end_is_found(text: str, has_link: bool) -> None:
    padding = "x" * links.SHORT_BYTES
    blocks: list[object] = [{"type": "text", "text": text + padding + text}]
    if has_link:
        blocks.append({"uri": "file:///a"})
    result = json.dumps({"content": blocks}, separators=(",", ":")).encode()
    assert links.may_hold_uris(msgspec.Raw(result)) is has_link


@pytest.mark.parametrize("sent", ["FILE:///x/../y", " file:///y", "fi\\tle:\\/\\/\\/y"])
async def test_a_link_is_known_in_the_spelling_that_clients_make_of_it(client: Client, sent: str) -> None:
    client.result(f'{{"content":[{{"type":"resource_link","name":"a","uri":"{sent}"}}]}}')
    await client.answered()
    assert client.knows("file:///y")


@pytest.mark.parametrize(("scheme", "is_incomplete"), [("file://", True), ("data:text/plain,", False)])
async def test_a_server_that_sends_a_link_too_long_to_remember_is_known_for_it(
    client: Client, scheme: str, is_incomplete: bool
) -> None:
    # A parser makes `file:///y` of it.
    long = f"{scheme}/{'a/../' * MAX_URI_BYTES * 2}y"
    client.result(f'{{"content":[],"structuredContent":{{"uri":"{long}"}}}}')
    await client.answered()
    assert (HERE in client.view.emitted.incomplete) is is_incomplete
