"""The scanner: says what in a tool's definition or a server's instructions looks like an attack on a model.

Works offline, and the same input always gives the same findings. `rules` has the rules. Definitions are
scanned when a listing has to be judged, never during a call.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from mcp_workbench.workbench.text.sanitise import clean_text, has_hidden, show_text
from mcp_workbench.workbench.trust.scanning.judging import judge, may_be_judged
from mcp_workbench.workbench.trust.scanning.rules import WHY, Severity
from mcp_workbench.workbench.trust.scanning.texts import ToolTexts, texts_of
from mcp_workbench.workbench.trust.scanning.words import MARKS, NamesOfTool, decoded, has_long_run, readable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from mcp_workbench.config import Origin

MAX_FINDINGS: Final = 20
"""Findings that are returned for one tool or one text, the hard ones first."""
MAX_WORDS_CHARACTERS: Final = 240
"""Length of the words that a finding quotes."""
MAX_PLACE_CHARACTERS: Final = 200
"""Length of the place that a finding names."""
MAX_PARAMETER_CHARACTERS: Final = 64
"""Longer names of parameters are not looked at."""
MANY_HIDDEN_CHARACTERS: Final = 10
"""So many hidden characters are no accident of an editor."""


class ScanFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Something in a definition or in instructions that looks like an attack."""

    code: str
    """What kind of attack, as a code of `rules.WHY`."""
    severity: Severity
    """`hard` if hardly any honest author writes so, else `soft`."""
    place: str
    """Where in the definition, such as `inputSchema.properties.path.description`."""
    words: str
    """The words that show it, without hidden characters and shortened."""
    why: str
    """What is wrong with them, as the end of a sentence that begins with the tool."""


class Suspicion(NamedTuple):
    """What a finding is made of, with all of its words."""

    code: str
    severity: Severity
    place: str
    words: str


def scan_tool(definition: msgspec.Raw | bytes, siblings: Collection[str] = ()) -> list[ScanFinding]:
    """Return the findings in a tool's definition.

    `siblings` are the names of the tools of the same server: directions for their use are the server's own
    business, and no orders about other tools.
    """
    return _scan_texts(texts_of(definition), siblings)


def _scan_texts(tool: ToolTexts, siblings: Collection[str]) -> list[ScanFinding]:
    return _bounded(_scan_read(tool, siblings))


def _scan_read(tool: ToolTexts, siblings: Collection[str], *, every: bool = False) -> Iterator[Suspicion]:
    names = NamesOfTool(tool.name.lower(), tool.parameters, _lowered(frozenset(siblings)))
    return chain(_duplicates(tool.twice), _scan(tool.texts, names, every=every))


# All tools of a server have the same siblings, and there may be thousands.
@lru_cache(maxsize=4)
def _lowered(names: frozenset[str]) -> frozenset[str]:
    return frozenset(map(str.lower, names))


def scan_text(place: str, text: str) -> list[ScanFinding]:
    """Return the findings in a text about a whole server, such as its instructions.

    Names of tools in it are taken for the server's own.
    """
    return _bounded(_scan(((place, text),), None))


def gained_in_tool(
    approved: msgspec.Raw, new: msgspec.Raw, siblings: Collection[str] = ()
) -> list[ScanFinding]:
    """Return a finding of each kind whose words the approved definition does not have, or not as hard."""
    before, now = (_scan_read(texts_of(one), siblings, every=True) for one in (approved, new))
    return _gained(before, now)


def gained_in_text(place: str, approved: str, new: str) -> list[ScanFinding]:
    """Return a finding of each kind whose words the approved text does not have, or not as hard."""
    before, now = (_scan(((place, text),), None, every=True) for text in (approved, new))
    return _gained(before, now)


def _gained(approved: Iterable[Suspicion], new: Iterable[Suspicion]) -> list[ScanFinding]:
    # By the words, wherever they are: a kind that is known would excuse every attack of that kind.
    known = {(one.code, one.severity, _plain(one.words)) for one in approved}
    known |= {(code, "soft", words) for code, _, words in known}
    gained = [one for one in new if (one.code, one.severity, _plain(one.words)) not in known]
    of_kinds: dict[str, Suspicion] = {}
    for one in sorted(gained, key=lambda one: one.severity):  # "hard" before "soft"
        of_kinds.setdefault(one.code, one)
    return [finding(*one) for one in of_kinds.values()]


def _plain(words: str) -> str:
    """Return words without marks before names: a name is marked otherwise if a parameter has it now."""
    return " ".join(_MARKS.sub("", words).lower().split())


_MARKS: Final = re.compile(f"[{''.join(MARKS)}]")


def scan_server(tools: Sequence[msgspec.Raw], instructions: str = "") -> dict[str, list[ScanFinding]]:
    """Return what is found in the listing of one server, by the name of the tool.

    What is found in its instructions has the empty name. Tools without findings are left out.
    """
    read = [texts_of(tool) for tool in tools]
    names = frozenset(tool.name for tool in read)
    found = {tool.name: _scan_texts(tool, names) for tool in read}
    found[""] = scan_text("instructions", instructions) + found.get("", [])
    return {name: findings for name, findings in found.items() if findings}


def scan_together(
    servers: Mapping[Origin, Sequence[msgspec.Raw]],
) -> dict[Origin, dict[str, list[ScanFinding]]]:
    """Return what is found only if servers are seen together, by server and tool: names and references.

    Only servers of the same toolbox are compared, because a model sees their tools together.
    """
    from mcp_workbench.workbench.trust.scanning.names import findings_of_names  # noqa: PLC0415 - not for every server

    found: dict[Origin, dict[str, list[ScanFinding]]] = {}
    for one in findings_of_names(servers):
        findings = found.setdefault(one.origin, {}).setdefault(one.tool, [])
        if len(findings) < MAX_FINDINGS:
            findings.append(finding(one.code, one.severity, one.place, one.words))
    return found


def has_hard(findings: Iterable[ScanFinding | Suspicion]) -> bool:
    """Whether any of the findings is hard."""
    return any(finding.severity == "hard" for finding in findings)


def finding(code: str, severity: Severity, place: str, words: str) -> ScanFinding:
    """Return a finding with its words fit to be shown, and with the reason that its code has."""
    shown = " ".join(show_text(clean_text(words[: 4 * MAX_WORDS_CHARACTERS])).split())
    shown = _MARKS.sub("", shown)
    if len(shown) > MAX_WORDS_CHARACTERS:
        shown = f"{shown[: MAX_WORDS_CHARACTERS - 1]}…"
    where = show_text(clean_text(place[:MAX_PLACE_CHARACTERS]))
    return ScanFinding(code=code, severity=severity, place=where, words=shown, why=WHY[code])


def _bounded(found: Iterable[Suspicion]) -> list[ScanFinding]:
    """Return one finding for each code and place, the hard ones first, and not too many."""
    chosen: dict[tuple[str, str], Suspicion] = {}
    for one in found:
        known = chosen.get((one.code, one.place))
        if known is None or (known.severity, one.severity) == ("soft", "hard"):
            chosen[one.code, one.place] = one
    ordered = sorted(chosen.values(), key=lambda one: one.severity)  # "hard" before "soft"
    return [finding(*one) for one in ordered[:MAX_FINDINGS]]


def _scan(
    texts: Collection[tuple[str, str]], names: NamesOfTool | None, *, every: bool = False
) -> Iterator[Suspicion]:
    whole = "\n".join(text for _, text in texts)
    if has_hidden(whole) or _PADDING.search(whole) is not None:
        for place, text in texts:
            yield from _hidden(place, text)
    # Most tools have too few of the words that the rules need: they cost nothing more. The name is judged by
    # itself, because it has signs that make other words look like names.
    may_attack = may_be_judged(readable("\n".join(text for place, text in texts if place != "name")))
    is_long = has_long_run(whole)
    for place, text in texts:
        if may_attack or place == "name":
            yield from _judged(place, text, names, every=every)
        if is_long and has_long_run(text):
            yield from _encoded(place, text, names)
    if names is not None:
        yield from _collecting(names.parameters)


def _duplicates(twice: Iterable[tuple[str, str]]) -> Iterator[Suspicion]:
    for place, name in twice:
        yield Suspicion("duplicate-member", "hard", place or "the definition", name)


def _collecting(parameters: Iterable[str]) -> Iterator[Suspicion]:
    for parameter in sorted(parameters):
        if len(parameter) <= MAX_PARAMETER_CHARACTERS and _COLLECTING.fullmatch(parameter):
            yield Suspicion("collects-context", "soft", f"inputSchema.properties.{parameter}", parameter)


_COLLECTING: Final = re.compile(
    r"(?:(?:full|entire|complete|raw|all|user|llm|model|agent|previous)_?){0,3}"
    r"(?:system_?(?:prompt|instructions)"
    r"|(?:conversation|chat|dialog|dialogue|messages?)_?(?:history|context|log|transcript))"
    r"|side_?notes?|chain_?of_?thoughts?|(?:ssh|private)_?keys?|env(?:ironment)?_?(?:dump|contents?)"
)
"""Names of parameters that take in more than a call needs."""


def _judged(place: str, text: str, names: NamesOfTool | None, *, every: bool = False) -> Iterator[Suspicion]:
    for rule, words in judge(readable(text), names, every=every):
        yield Suspicion(rule.code, rule.severity, place, words)


def _hidden(place: str, text: str) -> Iterator[Suspicion]:
    hidden = len(text) - len(clean_text(text))
    if hidden:
        is_meant = hidden >= MANY_HIDDEN_CHARACTERS or _MEANT.search(text) is not None
        # Other lines may change without a new finding.
        lines = " ".join(readable(line) for line in text.split("\n") if has_hidden(line))
        yield Suspicion("hidden-characters", "hard" if is_meant else "soft", place, lines)
    if (padded := _PADDING.search(text)) is not None:
        yield Suspicion("hidden-characters", "hard", place, text[padded.end() - 1 :])


_MEANT: Final = re.compile("[\x1b\u202d\u202e\U000e0020-\U000e007e]")
"""Hidden characters that do more than take up no room: they spell letters, turn text round, move a cursor."""


_PADDING: Final = re.compile(
    # Each run of space is tried from its beginning only: from every character, long runs take quadratic time.
    r"(?<![^\S\n])[^\S\n]{120,}+\S|(?<!\s)(?:[^\S\n]*+\n){21,}+[^\S\n]*+\S"
)
"""So much space that what follows is out of sight."""


def _encoded(place: str, text: str, names: NamesOfTool | None) -> Iterator[Suspicion]:
    for plain in decoded(text):
        is_attack = has_hard(_judged(place, plain, names))
        yield Suspicion("encoded-payload", "hard" if is_attack else "soft", place, plain)
