"""References in arguments, replaced by what they stand for."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import InvalidCall, NotKept
from mcp_workbench.surface.kept import arguments as kept_arguments
from mcp_workbench.surface.kept.arguments import fill_in
from mcp_workbench.workbench.kept.client_results import Content
from tests.support.kept import Bench, Maker
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from mcp_workbench.workbench.kept.client_results import ClientResults, ContentKind

ROWS = b'{"rows" : [{"id":1.0},\n {"id":2}],"a/b":"x"}'


@pytest.fixture
async def client_results() -> ClientResults:
    client_results = Bench(memory=10**9).client_results
    kept: list[tuple[str, bytes, ContentKind, bool]] = [
        ("res_text", 'é "quoted"\n'.encode(), "text", False),
        ("res_json", ROWS, "json", True),
        ("res_both", ROWS, "text", True),
        ("res_image", b64encode(b"pixels"), "binary", False),
        ("res_large", b"[%b]" % (b" " * 2_000_000), "json", True),
    ]
    contents = [Content(handle, data, kind, is_json=is_json) for handle, data, kind, is_json in kept]
    client_results.keep_now(contents, Maker(), 1000)
    return client_results


LINE = ROWS.replace(b"\n", b" ").decode()


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ('{"$result":"res_text"}', json.dumps('é "quoted"\n', ensure_ascii=False)),
        ('{"$result":"res_json"}', LINE),
        ('{ "$result" : "res_json", "pointer" : "" }', LINE),
        ('{"$result":"res_json","pointer":"/rows/0"}', '{"id":1.0}'),
        ('{"pointer":"/rows/0/id","$result":"res_json"}', "1.0"),
        ('{"$result":"res_json","pointer":"/a~1b"}', '"x"'),
        ('{"$result":"res_both"}', json.dumps(ROWS.decode())),
        ('{"$result":"res_both","pointer":"/rows/1"}', '{"id":2}'),
        ('{"$result":"res_image"}', '"cGl4ZWxz"'),
        (r'{"$result":"res_\u006ason"}', LINE),
    ],
)
@pytest.mark.parametrize(
    "around", ['{"a":%s}', '{"z": 1.50,"deep":[[{"x":%s }]], "s":"{\\"$result\\":\\"res_text\\"}"}']
)
async def test_a_reference_is_replaced_and_the_rest_stays_as_it_was_written(
    client_results: ClientResults, around: str, reference: str, value: str
) -> None:
    assert (await fill_in((around % reference).encode(), client_results)).decode() == around % value


async def test_several_references_are_replaced_and_what_they_bring_is_not_looked_into(
    client_results: ClientResults,
) -> None:
    inner = b'{"$result":"res_text"}'
    client_results.keep_now([Content("res_inner", inner, "json", is_json=True)], Maker(), 1000)
    written = b'{"a":{"$result":"res_inner"},"b":{"$result":"res_image"}}'
    assert await fill_in(written, client_results) == b'{"a":{"$result":"res_text"},"b":"cGl4ZWxz"}'


async def test_all_of_the_arguments_can_be_a_reference_to_an_object(client_results: ClientResults) -> None:
    assert (await fill_in(b'{"$result":"res_json"}', client_results)).decode() == LINE
    with pytest.raises(InvalidCall, match="not an object"):
        await fill_in(b'{"$result":"res_text"}', client_results)


@pytest.mark.parametrize(
    "arguments",
    ['{"a":{"$result":5}}', '{"a":{"$result":"x","other":1}}', '{"$results":"res_x"}', '{"a":"$result"}'],
)
async def test_what_is_no_reference_stays(client_results: ClientResults, arguments: str) -> None:
    assert await fill_in(arguments.encode(), client_results) == arguments.encode()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"a":{"$result":"res_json","pointer":"/row"}}', "in res_json, nothing is at '/row': the whole is"),
        ('{"a":{"$result":"res_text","pointer":"/a"}}', "res_text is not JSON"),
        ('{"a":{"$result":"res_json","pointer":5}}', "a reference to a result has exactly this form"),
        ('{"a":{"$result":"res_json","path":"/a"}}', "a reference to a result has exactly this form"),
    ],
)
async def test_a_reference_that_leads_nowhere_is_an_error(
    client_results: ClientResults, arguments: str, reason: str
) -> None:
    with pytest.raises(InvalidCall) as raised:
        await fill_in(arguments.encode(), client_results)
    assert str(raised.value).startswith(f"Invalid arguments: {reason}")


async def test_an_unknown_handle_and_that_of_another_are_the_same_error(
    client_results: ClientResults,
) -> None:
    other = Bench(memory=1000).client_results
    for place in (client_results, other):
        with pytest.raises(NotKept, match="No result is kept under the handle 'res_x'"):
            await fill_in(b'{"a":{"$result":"res_x"}}', place)
    with pytest.raises(NotKept):
        await fill_in(b'{"a":{"$result":"res_json"}}', other)


async def test_arguments_do_not_grow_without_bound(
    client_results: ClientResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_arguments, "MAX_FILLED_BYTES", 5_000_000)
    two = b'{"a":{"$result":"res_large"},"b":{"$result":"res_large"}}'
    assert len(await fill_in(two, client_results)) > 4_000_000
    with pytest.raises(InvalidCall, match="they have more than"):
        await fill_in(two.replace(b'"b"', b'"c":{"$result":"res_large"},"b"'), client_results)


async def test_many_references_do_not_hold_up_all_else(
    client_results: ClientResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_arguments, "INLINE_BYTES", 10 * len(ROWS))
    reference = '{"$result":"res_json","pointer":"/rows/1/id"}'
    arguments = f'{{"a":[{",".join([reference] * 100)}]}}'
    filling = asyncio.create_task(fill_in(arguments.encode(), client_results))
    turns = 0
    async with asyncio.timeout(PATIENCE):
        while not filling.done():
            await asyncio.sleep(0)
            turns += 1
    assert turns >= 90
    assert json.loads(await filling) == {"a": [2] * 100}
