"""What the adapter says in other words: the names that the suite knows, and those of the workbench."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.client import Json

OURS = ("open_toolbox", "use_tool")

TOOLBOX = "judged"
SERVER = "suite"
RESOURCE = f"workbench:{TOOLBOX}/{SERVER}/"
PROMPT = f"{TOOLBOX}/{SERVER}/"


@dataclass(frozen=True)
class Renamed:
    """A request in the workbench's words; its `Mcp-Name` header changes along."""

    message: Json
    was: str | None = None
    becomes: str | None = None


def request_for_workbench(message: Json) -> Renamed | None:
    """None for a request that goes as it is."""
    params = message.get("params")
    if not isinstance(params, dict):
        return None
    match message.get("method"):
        case "tools/call" if isinstance(name := params.get("name"), str) and name not in OURS:
            identifier = {"toolbox": TOOLBOX, "server": SERVER, "tool": name}
            used = {"tool": identifier, "arguments": params.get("arguments", {})}
            return Renamed(_with(message, name="use_tool", arguments=used), name, "use_tool")
        case "resources/read" | "resources/subscribe" | "resources/unsubscribe" if "uri" in params:
            uri = params["uri"]
            return Renamed(_with(message, uri=RESOURCE + uri), uri, RESOURCE + uri)
        case "prompts/get" if "name" in params:
            name = params["name"]
            return Renamed(_with(message, name=PROMPT + name), name, PROMPT + name)
        case "completion/complete" if "ref" in params:
            reference = params["ref"]
            key, prefix = ("name", PROMPT) if "name" in reference else ("uri", RESOURCE)
            return Renamed(_with(message, ref={**reference, key: prefix + reference[key]}))
    return None


def _with(message: Json, **params: object) -> Json:
    return {**message, "params": {**message["params"], **params}}


def result_for_suite(method: str, result: Json, tools: list[Json]) -> Json:
    """A list in the suite's words: `tools` are those that `open_toolbox` gave."""
    match method:
        case "tools/list":
            return {**result, "tools": tools}
        case "resources/list":
            return {**result, "resources": _unprefixed(result["resources"], "uri", RESOURCE)}
        case "resources/templates/list":
            listed = _unprefixed(result["resourceTemplates"], "uriTemplate", RESOURCE)
            return {**result, "resourceTemplates": listed}
        case "prompts/list":
            return {**result, "prompts": _unprefixed(result["prompts"], "name", PROMPT)}
    return result


LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")


def _unprefixed(offers: list[Json], key: str, prefix: str) -> list[Json]:
    return [{**offer, key: offer[key].removeprefix(prefix)} for offer in offers]
