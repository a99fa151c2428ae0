"""Translates a server entry in the words of any client into our own.

Owns the target, the environment, headers, switches and timeouts of an entry. What limits a server is honoured
or refused, never ignored. The result is checked by `validation.server`, like an entry in our own words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.entries.dialects import ANY, Dialect
from mcp_workbench.config.entries.oauth_words import translate_oauth
from mcp_workbench.config.entries.other_keys import keep_for_validation
from mcp_workbench.config.entries.our_words import OUR_KEYS, is_in_our_words
from mcp_workbench.config.entries.tool_lists import combine_tool_limits
from mcp_workbench.config.entries.vocabulary import (
    ENV_KEYS,
    HEADER_KEYS,
    MILLISECONDS_KEYS,
    NAME_KEYS,
    SECONDS_KEYS,
    SWITCHES,
    SYNONYMS,
)
from mcp_workbench.config.validation.fields import kind_of
from mcp_workbench.config.validation.problems import quoted
from mcp_workbench.config.validation.server import TRANSPORT_OF_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config.validation.problems import Place, Problems

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_GEMINI_KEYS = frozenset(("httpUrl", "includeTools", "excludeTools", "trust"))
_OPENCODE_REFERENCE = re.compile(r"(?<![${])\{((?:env|file):[^{}\s]+)\}(?!\})")
_BARE_VARIABLE = re.compile(r"(?:[A-Za-z]+ +)?\$([A-Z_][A-Z0-9_]*)")
_TO_SECONDS = 1000


def translate(
    entry: dict[str, object], place: Place, problems: Problems, dialect: Dialect = ANY
) -> dict[str, object]:
    """Return the entry in our words. Report what limits the server in a way that we do not know."""
    if not dialect.is_guess:
        return _Translation(entry, place, problems, dialect).run()
    if is_in_our_words(entry):
        return entry
    source = {key: _with_our_references(value) for key, value in entry.items()}
    _warn_of_bare_variables(source, place, problems)
    return _Translation(source, place, problems, _guess(source)).run()


def reference_to(variable: str) -> str:
    """Return our reference to an environment variable, whose name may have small letters."""
    return f"${{{variable}}}" if _PLAIN_VARIABLE.fullmatch(variable) else f"${{env:{variable}}}"


def is_variable(name: object) -> bool:
    """Whether a value is the name of one environment variable, and no glob or text."""
    return isinstance(name, str) and _VARIABLE.fullmatch(name) is not None


def _with_our_references(node: object) -> object:
    """Return a value with the references of OpenCode, `{env:X}` and `{file:X}`, as ours."""
    if isinstance(node, str):
        return _OPENCODE_REFERENCE.sub(r"${\1}", node)
    if isinstance(node, list):
        return [_with_our_references(item) for item in node]
    if isinstance(node, dict):
        return {key: _with_our_references(value) for key, value in node.items()}
    return node


def _warn_of_bare_variables(entry: dict[str, object], place: Place, problems: Problems) -> None:
    """Warn of `$NAME` in the environment and in headers, which some clients replace and we do not."""
    for key in (*ENV_KEYS, *HEADER_KEYS):
        values = entry.get(key)
        for name, value in values.items() if isinstance(values, dict) else ():
            if isinstance(value, str) and (found := _BARE_VARIABLE.fullmatch(value)):
                what = f"${found[1]} is taken as it is; to refer to the variable, write ${{{found[1]}}}"
                problems.warn((*place, key, name), what)


def _guess(entry: dict[str, object]) -> Dialect:
    """Return the dialect of an entry by its keys: the unit of `timeout` is all that they tell apart."""
    has_list = isinstance(entry.get("command"), list)
    if has_list or entry.get("type") == "remote":
        return msgspec.structs.replace(ANY, timeout_unit="milliseconds", timeout_key="startupTimeout")
    counts_milliseconds = (
        not _GEMINI_KEYS.isdisjoint(entry)
        or entry.get("type") == "local"
        or isinstance(entry.get("tools"), list)
    )
    return msgspec.structs.replace(ANY, timeout_unit="milliseconds") if counts_milliseconds else ANY


class _Translation:
    """Translates one entry: every step reads from the source and adds to the result."""

    def __init__(self, source: dict[str, object], place: Place, problems: Problems, dialect: Dialect) -> None:
        self._source = source
        self._place = place
        self._problems = problems
        self._dialect = dialect
        self._result: dict[str, object] = {}

    def run(self) -> dict[str, object]:
        """Return the entry in our words."""
        source, result = self._source, self._result
        result |= {key: value for key, value in source.items() if key in OUR_KEYS}
        self._target()
        self._transport()
        self._environment()
        self._headers()
        self._switch()
        filters = combine_tool_limits(source, self._place, self._problems, self._dialect)
        if filters is not None:
            written, result["toolFilters"] = filters
            self._spell("toolFilters", written)
        self._timeouts()
        translate_oauth(source, result)
        result |= keep_for_validation(source, self._place, self._problems)
        return result

    def _put(self, key: str, value: object, written: str) -> None:
        self._result[key] = value
        self._spell(key, written)

    def _spell(self, key: str, written: str) -> None:
        if key != written:
            self._problems.spell((*self._place, key), written)

    def _refuse(self, key: str, what: str, remedy: str) -> None:
        self._problems.add((*self._place, key), what, remedy)

    def _target(self) -> None:
        for written, key in SYNONYMS.items():
            value = self._source.get(written)
            if value is None:
                continue
            if self._result.get(key) not in (None, value):
                self._refuse(written, f'contradicts "{key}"', "Keep one of the two.")
            self._put(key, value, written)
        command = self._result.get("command")
        if isinstance(command, list):
            self._split_command(command)
        elif isinstance(command, dict):
            self._open_command(command)

    def _split_command(self, command: list[object]) -> None:
        if not command or not all(isinstance(word, str) for word in command):
            del self._result["command"]
            what = "should be a string, or a list of strings: the program, then its arguments"
            self._refuse(
                "command", what, 'Write for example "command": "npx", "args": ["-y", "some-package"]'
            )
            self._problems.silence(self._place)
            return
        self._result["command"] = command[0]
        self._prepend(command[1:])

    def _open_command(self, command: dict[str, object]) -> None:
        """Take the older form of Zed apart: the program, its arguments and environment in one object."""
        place = (*self._place, "command")
        self._result["command"] = command.get("path")
        if isinstance(arguments := command.get("args"), list):
            self._prepend(arguments)
        elif arguments is not None:
            self._problems.add((*place, "args"), "should be a list of strings", 'Write "args": ["…"].')
        for key in command:
            if key not in ("path", "args", "env"):
                self._problems.add((*place, key), "unknown key", "Delete it, or move it beside the command.")

    def _prepend(self, arguments: list[object]) -> None:
        rest = self._result.get("args")
        if arguments and (rest is None or isinstance(rest, list)):
            self._result["args"] = [*arguments, *(rest or ())]

    def _transport(self) -> None:
        transport = self._result.get("transport")
        if isinstance(transport, str) and transport in TRANSPORT_OF_TYPE:
            self._result["transport"] = TRANSPORT_OF_TYPE[transport]
        if (
            self._dialect.url_transport == "sse"
            and self._source.get("url") is not None
            and "httpUrl" not in self._source
            and "type" not in self._source
        ):
            self._result.setdefault("transport", "sse")

    def _environment(self) -> None:
        command = self._source.get("command")
        inner = command.get("env") if isinstance(command, dict) else None
        given = [(key, self._source[key]) for key in ENV_KEYS if self._source.get(key) is not None]
        self._merge("env", [*given, *([("command", inner)] if inner is not None else [])], str)
        names = [name for key in NAME_KEYS for name in self._variables(key)]
        inherited = self._source.get("inheritEnv")
        if names and isinstance(inherited, list):
            self._result["inheritEnv"] = [*inherited, *names]
        elif names and not inherited:
            self._result["inheritEnv"] = names

    def _variables(self, key: str) -> list[str]:
        value = self._source.get(key)
        if value is None:
            return []
        items = value if isinstance(value, list) else [value]
        names = [item.get("name") if isinstance(item, dict) else item for item in items]
        if not all(map(is_variable, names)):
            what = "should be a list of names of variables"
            self._refuse(key, what, 'Write for example "inheritEnv": ["GITHUB_TOKEN"]')
            return []
        return [str(name) for name in names]

    def _headers(self) -> None:
        source = self._source
        given = [(key, source[key]) for key in HEADER_KEYS if source.get(key) is not None]
        options = source.get("requestOptions")
        if isinstance(options, dict) and options.get("headers") is not None:
            given.append(("requestOptions", options["headers"]))
        from_variables = source.get("env_http_headers")
        if isinstance(from_variables, dict) and all(map(is_variable, from_variables.values())):
            headers = {name: reference_to(variable) for name, variable in from_variables.items()}
            given.append(("env_http_headers", headers))
        elif from_variables is not None:
            what = "should be an object with the name of a variable for each header"
            self._refuse("env_http_headers", what, 'Write for example "headers": {"X-Api-Key": "${API_KEY}"}')
        bearer = source.get("bearer_token_env_var")
        if is_variable(bearer):
            given.append(("bearer_token_env_var", {"Authorization": f"Bearer {reference_to(str(bearer))}"}))
        elif bearer is not None:
            what = "should be the name of a variable"
            remedy = 'Write for example "headers": {"Authorization": "Bearer ${API_TOKEN}"}'
            self._refuse("bearer_token_env_var", what, remedy)
        if isinstance(key := source.get("apiKey"), str) and "url" in self._result:
            given.append(("apiKey", {"Authorization": f"Bearer {key}"}))
        self._merge("headers", given, str.lower)

    def _merge(self, key: str, given: list[tuple[str, object]], fold: Callable[[str], str]) -> None:
        """Put the objects of several keys into one. A name with two values is a problem, not a choice."""
        if len(given) == 1:
            self._put(key, given[0][1], given[0][0])
            return
        merged: dict[str, object] = {}
        seen: dict[str, object] = {}
        for written, value in given:
            if not isinstance(value, dict):
                self._refuse(written, f"should be an object of strings, not {kind_of(value)}", "Correct it.")
                continue
            for name, text in value.items():
                folded = fold(name)
                if seen.setdefault(folded, text) != text:
                    self._refuse(
                        written, f"{quoted(name)} is given twice, with two values", "Keep one of them."
                    )
                merged.setdefault(name, text)
        if given:
            self._result[key] = merged

    def _switch(self) -> None:
        is_off = False
        for key, on in SWITCHES.items():
            value = self._source.get(key)
            if isinstance(value, bool):
                is_off = is_off or value is not on
            elif value is not None and key != "disabled":
                what = f"should be true or false, not {kind_of(value)}"
                self._refuse(key, what, 'Write "disabled": true to leave the server out.')
        if is_off:
            self._result["disabled"] = True

    def _timeouts(self) -> None:
        dialect = self._dialect
        timeout = self._result.pop("timeout", None)
        if timeout is not None and not self._is_ignored(timeout):
            own = self._source.get(dialect.timeout_key) if dialect.timeout_key != "timeout" else None
            value = _seconds(timeout) if dialect.timeout_unit == "milliseconds" else timeout
            self._put(dialect.timeout_key, own if own is not None else value, "timeout")
        for written, key in (*SECONDS_KEYS.items(), *MILLISECONDS_KEYS.items()):
            value = self._source.get(written)
            if value is not None and key not in self._result:
                self._put(key, _seconds(value) if written in MILLISECONDS_KEYS else value, written)

    def _is_ignored(self, timeout: object) -> bool:
        """Whether the client ignores this number, and waits as long as it does without it."""
        if self._dialect.is_guess or isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            return False
        return timeout <= 0 or timeout < self._dialect.min_timeout


def _seconds(milliseconds: object) -> object:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)):
        return milliseconds
    seconds = milliseconds / _TO_SECONDS
    return int(seconds) if seconds.is_integer() else seconds
