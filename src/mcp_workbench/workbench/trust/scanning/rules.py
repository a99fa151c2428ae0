"""The rules of the scanner, as data: which signals of a passage together are a finding, and what it means.

A rule needs some signals, and counts points for others that make the same words worse. `signals` says
what the signals are.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Severity = Literal["hard", "soft"]


class ScanRule(NamedTuple):
    """Signals that are a finding if they are in one passage."""

    code: str
    severity: Severity
    needs: frozenset[str]
    """Signals that the passage must have."""
    points: dict[str, int]
    """What other signals count."""
    enough: int
    """Points that the rule takes, at least."""
    reach: int
    """Sentences in a row that are a passage for this rule."""
    unless: frozenset[str]
    """Signals that show the passage to be harmless."""


def _rule(
    code: str,
    severity: Severity,
    needs: str,
    points: str = "",
    *,
    enough: int = 0,
    reach: int = 1,
    unless: str = "",
) -> ScanRule:
    """Return a rule from the names of signals; each `+` before a name is one more point."""
    counted = {signal.lstrip("+"): 1 + signal.count("+") for signal in points.split()}
    return ScanRule(
        code, severity, frozenset(needs.split()), counted, enough, reach, frozenset(unless.split())
    )


_ANY_SECRECY: Final = "hushes keeps_from_user leaves_user_unaware hushes_elsewhere"
_SECRECY_TWICE: Final = " ".join(f"+{signal}" for signal in _ANY_SECRECY.split())

RULES: Final[tuple[ScanRule, ...]] = (
    _rule("secrecy", "hard", "hushes"),
    _rule("secrecy", "hard", "keeps_from_user"),
    _rule("secrecy", "hard", "leaves_user_unaware"),
    _rule("secrecy", "hard", "hushes_elsewhere"),
    _rule("instruction-override", "hard", "drops_instructions"),
    _rule("instruction-override", "hard", "drops_instructions_elsewhere"),
    _rule("instruction-override", "hard", "changes_role"),
    _rule("instruction-override", "hard", "defies_user"),
    _rule("instruction-override", "hard", "demands_obedience"),
    _rule(
        "false-authority",
        "hard",
        "poses_as_system",
        f"obliges imposes takes hands_over destroys secret_file secret_thing conversation calls_other"
        f" governs_all runs shell {_ANY_SECRECY}",
        enough=1,
        reach=2,
    ),
    _rule(
        "false-authority",
        "hard",
        "comments_out",
        f"obliges imposes takes hands_over destroys secret_file secret_thing conversation calls_other"
        f" contents into_argument runs {_ANY_SECRECY}",
        enough=1,
    ),
    _rule(
        "deception",
        "hard",
        "pretends",
        "exclaims imposes disregards poses_as_system",
        enough=1,
        reach=2,
    ),
    _rule("deception", "hard", "covers_up"),
    _rule("deception", "hard", "falsifies"),
    _rule("deception", "hard", "manipulates_user"),
    _rule(
        "tool-orders",
        "hard",
        "governs_other",
        "+imposes obliges +then_calls calls_other alters_argument ++alters_foreign +disregards excuses"
        " +threatens destroys ++secret_file foreign_address conversation governs_self governs_all"
        " ++poses_as_system exclaims ++hushes ++keeps_from_user",
        enough=4,
        reach=2,
        unless="calls_self_first",
    ),
    _rule(
        "argument-tampering",
        "hard",
        "alters_foreign",
        "imposes +governs_other governs_all +disregards excuses foreign_address ++secret_file conversation"
        " threatens calls_other alters_parameter ++hushes ++keeps_from_user",
        enough=2,
        reach=3,
    ),
    _rule(
        "argument-tampering",
        "hard",
        "alters_request",
        "imposes +governs_other governs_all +disregards excuses foreign_address ++secret_file conversation"
        " threatens calls_other ++hushes ++keeps_from_user",
        enough=2,
        reach=3,
    ),
    _rule(
        "argument-tampering",
        "hard",
        "redirects",
        f"then_calls governs_all governs_other imposes disregards conversation {_ANY_SECRECY}",
        enough=1,
        reach=2,
    ),
    _rule(
        "forced-call",
        "hard",
        "calls_other",
        "imposes excuses +destroys +threatens +secret_file secret_thing +foreign_address conversation"
        " governs_all disregards then_calls +poses_as_system skips_approval +hushes"
        " +keeps_from_user",
        enough=3,
        reach=2,
        unless="prepares_input calls_self_first",
    ),
    _rule("forced-call", "soft", "calls_other imposes"),
    _rule(
        "secret-access",
        "hard",
        "secret_file",
        "takes hands_over destroys alters_argument contents runs shell +imposes obliges governs_self"
        " +governs_other +governs_all into_argument exclaims threatens addresses_model +withholds"
        f" skips_approval {_SECRECY_TWICE}",
        enough=3,
        reach=2,
    ),
    _rule("secret-access", "soft", "secret_file", "takes hands_over contents", enough=1, reach=2),
    _rule(
        "data-theft",
        "hard",
        "hands_over",
        "++secret_file +secret_thing +conversation +foreign_address +addresses_model contents into_argument"
        " imposes governs_self"
        f" +governs_all exclaims takes +withholds +skips_approval {_ANY_SECRECY}",
        enough=7,
        reach=2,
    ),
    _rule("data-theft", "hard", "hands_over contact imposes"),
    _rule("data-theft", "hard", "asks_for_password hands_over", reach=2),
    _rule("data-theft", "hard", "leaks_prompt"),
    _rule("data-theft", "hard", "also_sends"),
    _rule("data-theft", "hard", "image_beacon", "conversation secret_thing", enough=1, reach=2),
    _rule(
        "data-theft",
        "hard",
        "hands_over secret_thing exclaims",
        "into_argument imposes conversation contact contents",
        enough=1,
    ),
    _rule("collects-context", "soft", "hands_over conversation"),
    _rule(
        "precedence",
        "hard",
        "calls_self_first governs_all",
        f"displaces_tools disregards excuses threatens conversation {_ANY_SECRECY}",
        enough=1,
        reach=2,
    ),
    _rule("precedence", "soft", "calls_self_first governs_all"),
    _rule(
        "precedence",
        "hard",
        "displaces_tools",
        f"imposes disregards threatens exclaims foreign_address {_ANY_SECRECY}",
        enough=2,
        reach=2,
    ),
    _rule("precedence", "hard", "slanders_tools"),
    _rule("precedence", "hard", "displaces_tools imposes governs_all", reach=2),
    _rule("precedence", "soft", "displaces_tools"),
    _rule(
        "shell-command",
        "hard",
        "shell runs",
        "+imposes governs_self governs_other governs_all exclaims foreign_address secret_file"
        f" +addresses_model +withholds +skips_approval {_ANY_SECRECY}",
        enough=2,
        reach=2,
    ),
    _rule("shell-command", "hard", "pipes_into_shell runs"),
    _rule("shell-command", "soft", "shell"),
    _rule("encoded-payload", "hard", "decodes"),
)
"""All rules. Of several that a text meets under one code, a hard one counts."""

WHY: Final[dict[str, str]] = {
    "secrecy": "tells the model to keep something from the user",
    "instruction-override": "tells the model to drop its instructions or the user's, or to change its role",
    "false-authority": "speaks as the system, or in a part that claims to be hidden",
    "deception": "tells the model to give the user a false picture",
    "tool-orders": "gives orders about the use of other tools",
    "argument-tampering": "tells the model to change what other tools are given",
    "forced-call": "requires calls of other tools",
    "secret-access": "is about a file that holds secrets",
    "data-theft": "asks for secrets or private data to be handed over",
    "collects-context": "asks for the conversation or the prompt",
    "precedence": "puts itself before all other tools",
    "shell-command": "contains a shell command",
    "encoded-payload": "hides text in an encoding",
    "hidden-characters": "contains characters that people cannot see",
    "duplicate-member": "has a member twice, so that programs and people may read different texts",
    "look-alike-name": "has a name that is easily taken for that of a tool of another server",
    "other-server": "refers to a tool of another server",
}
"""What a finding with each code means, as the end of a sentence that begins with the tool or the text."""
