"""The configuration file as typed, immutable structs: the file, its toolboxes and their servers.

Owns the keys, with their types, defaults and descriptions. Validation, suggestions, the JSON Schema and the
tests of the documentation read them from here. Does not check one key against another.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from mcp_workbench.config.model.access import HttpConfig
from mcp_workbench.config.model.oauth import OAuthConfig
from mcp_workbench.config.model.policy import NO_POLICY, Action, PolicyConfig
from mcp_workbench.config.model.results import InlineConfig, ResultsConfig
from mcp_workbench.config.model.sandbox import SandboxConfig

Transport = Literal["stdio", "http", "sse"]
PinLevel = Literal["scan", "strict", "off"]
"""What happens to a tool whose definition is no longer the one that was approved."""
DEFAULT_PIN: PinLevel = "scan"
"""The level of pins where the configuration does not say."""

Text = Annotated[str, Meta(pattern=r"\S")]
# Bounded, because a call with an infinite timeout could hang forever.
Seconds = Annotated[float, Meta(gt=0, le=100_000_000)]
Calls = Annotated[int, Meta(ge=1, le=100_000)]
# At least the size of a usual handshake, and at most what still fits into memory.
Bytes = Annotated[int, Meta(ge=65_536, le=1_073_741_824)]

Tokens = Annotated[int, Meta(ge=500, le=10_000_000)]

AuditLevel = Literal["off", "metadata", "arguments", "full"]
"""What is recorded of each call: nothing, who called what and how it ended, the arguments too, or all."""

OPEN_DEADLINE_SECONDS = 15.0
"""Seconds after which `open_toolbox` answers, where the configuration does not say."""
LISTING_BUDGET_TOKENS = 7000
"""Tokens of the longest answer of `open_toolbox`, where the configuration does not say."""

Origin = tuple[str, str]
"""The names of a server's toolbox and of the server itself."""


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An MCP server, as an entry of `mcpServers` describes it."""

    command: Annotated[
        Text | None,
        Meta(
            description="The program that runs the server. A server has either this or `url`.",
            examples=["npx"],
            extra={"expected": "a string that is not empty"},
        ),
    ] = None
    args: Annotated[
        list[str],
        Meta(
            description="The program's arguments, one string each.",
            examples=[["-y", "some-package"]],
            extra={"expected": "a list of strings, one for each argument"},
        ),
    ] = []
    env: Annotated[
        dict[str, str],
        Meta(
            description="Environment variables for the program, on top of the safe set that it gets anyway.",
            examples=[{"LOG_LEVEL": "info"}],
            extra={"expected": "an object of strings"},
        ),
    ] = {}
    env_file: Annotated[
        Text | None,
        Meta(
            description="A file with lines NAME=value, whose variables the program gets too; `env` wins "
            "over it. A relative path counts from the directory of the configuration file.",
            examples=[".env"],
            extra={"expected": "a string that is not empty"},
        ),
    ] = None
    cwd: Annotated[
        Text | None,
        Meta(
            description="The directory that the program starts in. Default: the workbench's own.",
            examples=["/path/to/project"],
            extra={"expected": "a string that is not empty"},
        ),
    ] = None
    url: Annotated[
        Text | None,
        Meta(
            description="The address of a remote server. A server has either this or `command`.",
            examples=["https://mcp.example.com/mcp"],
            extra={"expected": "a string that is not empty"},
        ),
    ] = None
    headers: Annotated[
        dict[str, str],
        Meta(
            description="HTTP headers to send to `url`.",
            examples=[{"Authorization": "Bearer ${API_TOKEN}"}],
            extra={"expected": "an object of strings"},
        ),
    ] = {}
    oauth: Annotated[
        OAuthConfig | None,
        Meta(
            description="How to get an access token for `url`, where the server alone does not say enough. "
            "An `Authorization` among the `headers` wins over it.",
            examples=[{"clientId": "my-client", "callbackPort": 8765}],
        ),
    ] = None
    transport: Annotated[
        Transport,
        Meta(
            description='How to talk to the server. Default: "stdio" for `command`, "http" for `url`.',
            examples=["stdio"],
            extra={"expected": 'a string, one of "stdio", "http", "sse"'},
        ),
    ] = "stdio"
    tool_filters: Annotated[
        list[str],
        Meta(
            description="Which of the server's tools to show: names, globs, and `!` in front to hide.",
            examples=[["read_*", "!read_secret"]],
            extra={"expected": "a list of strings"},
        ),
    ] = msgspec.field(default_factory=lambda: ["*"])
    required: Annotated[
        bool,
        Meta(
            description="Whether the toolbox fails to open when this server does.",
            examples=[True],
            extra={"expected": "true or false"},
        ),
    ] = False
    disabled: Annotated[
        bool,
        Meta(
            description="Whether to leave this server out.",
            examples=[True],
            extra={"expected": "true or false"},
        ),
    ] = False
    timeout: Annotated[
        Seconds,
        Meta(
            description="Seconds to wait for a call's answer. Progress restarts it, up to ten times in all.",
            examples=[60],
            extra={"expected": "a number of seconds, more than 0 and at most 100000000"},
        ),
    ] = 60.0
    startup_timeout: Annotated[
        Seconds,
        Meta(
            description="Seconds that the server may take to start and to list its tools.",
            examples=[120],
            extra={"expected": "a number of seconds, more than 0 and at most 100000000"},
        ),
    ] = 60.0
    input_timeout: Annotated[
        Seconds,
        Meta(
            description="Seconds that a call waits when its server asks for something in the middle of it: "
            "an answer of the user, a completion by the client's model, its roots.",
            examples=[600],
            extra={"expected": "a number of seconds, more than 0 and at most 100000000"},
        ),
    ] = 600.0
    call_limit: Annotated[
        Calls,
        Meta(
            description="Calls that the server works on at once. More wait until one of them has ended.",
            examples=[100],
            extra={"expected": "a number of calls from 1 to 100000, in digits only"},
        ),
    ] = 1000
    message_limit: Annotated[
        Bytes,
        Meta(
            description="Bytes of the longest message that is taken from the server.",
            examples=[67108864],
            extra={"expected": "a number of bytes from 65536 to 1073741824, in digits only"},
        ),
    ] = 67_108_864
    results: Annotated[
        InlineConfig,
        Meta(
            description="Which of its results are kept by the workbench and shown in short; false for none. "
            "Default: as the toolbox has it.",
            examples=[{"inlineLimit": 100000}],
        ),
    ] = InlineConfig()
    pin: Annotated[
        PinLevel,
        Meta(
            description="What happens to a tool whose definition changes: it is held if the change may be "
            'an attack ("scan"), after any change and if it is new ("strict"), or never ("off"). '
            "Default: as the toolbox has it.",
            examples=["strict"],
            extra={"expected": 'a string, one of "scan", "strict", "off"'},
        ),
    ] = DEFAULT_PIN
    isolation: Annotated[
        Literal["shared", "client"],
        Meta(
            description="Who shares the server, where several clients share the workbench: all of them, or "
            'none, so that each client has one for itself ("client"; for servers that keep state).',
            examples=["client"],
            extra={"expected": 'a string, one of "shared", "client"'},
        ),
    ] = "shared"
    inherit_env: Annotated[
        bool | list[str],
        Meta(
            description="Which of the workbench's environment variables to pass on beyond the safe set: "
            "all (true), none (false), or those whose names match a list of names and globs.",
            examples=[["GITHUB_*"]],
            extra={"expected": "true, false, or a list of variable names"},
        ),
    ] = False
    sandbox: Annotated[
        SandboxConfig | None,
        Meta(
            description="Confines the program: no network, and only the paths that are named here. True for "
            "no network and no path but those of the system. Where the system cannot confine it, it is not "
            "started. Default: it runs with your rights.",
            examples=[{"network": False, "read": ["./docs"], "write": ["./data"]}],
        ),
    ] = None
    protocol: Annotated[
        Literal["auto", "legacy", "2026-07-28"],
        Meta(
            description="The protocol version to use with the server. Default: the workbench finds out.",
            examples=["auto"],
            extra={"expected": 'a string, one of "auto", "legacy", "2026-07-28"'},
        ),
    ] = "auto"
    policy: Annotated[
        PolicyConfig,
        Meta(
            description="Which of its tools may be called without asking, which only after a person was "
            "asked, and which not at all; and how often.",
            examples=[{"delete_*": "deny"}],
        ),
    ] = NO_POLICY
    elicitation: Annotated[
        Literal["allow", "deny"],
        Meta(
            description="Whether the server may ask the client's user something in the middle of a call.",
            examples=["deny"],
            extra={"expected": 'a string, one of "allow", "deny"'},
        ),
    ] = "allow"
    sampling: Annotated[
        Action,
        Meta(
            description="Whether the server may use the client's model. With `ask`, the client's user is "
            "asked by elicitation each time.",
            examples=["ask"],
            extra={"expected": 'a string, one of "allow", "ask", "deny"'},
        ),
    ] = "allow"
    roots: Annotated[
        Literal["allow", "deny"],
        Meta(
            description="Whether the server may learn the client's roots.",
            examples=["deny"],
            extra={"expected": 'a string, one of "allow", "deny"'},
        ),
    ] = "allow"
    flows: Annotated[
        dict[str, Action],
        Meta(
            description="Which other servers' kept results may be handed to this one, by "
            "`toolbox/server` with globs. Default: all of them.",
            examples=[{"crm/*": "deny"}],
        ),
    ] = {}

    @property
    def may_ask_anything(self) -> bool:
        """Whether the server may use all capabilities of clients, as by default."""
        return self.elicitation == self.sampling == self.roots == "allow"

    @property
    def has_authorization(self) -> bool:
        """Whether the `headers` authorize requests, so that no access token is needed."""
        return any(name.lower() == "authorization" for name in self.headers)

    @property
    def takes_login(self) -> bool:
        """Whether the user may have to log in to the server. Only the server knows whether that is needed."""
        if self.url is None or self.has_authorization:
            return False
        return self.oauth is None or self.oauth.grant == "authorization_code"


_CHANGEABLE_WHILE_RUNNING = (
    "tool_filters",
    "required",
    "disabled",
    "timeout",
    "startup_timeout",
    "input_timeout",
    "call_limit",
    "message_limit",
    "results",
    "policy",
    "flows",
    "pin",
)


def is_same_program(one: ServerConfig, other: ServerConfig) -> bool:
    """Whether a server that was started with one configuration can go on running under the other."""
    taken_over = {name: getattr(other, name) for name in _CHANGEABLE_WHILE_RUNNING}
    return msgspec.structs.replace(one, **taken_over) == other


class ToolboxConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A group of servers that are opened together."""

    description: Annotated[
        Text,
        Meta(
            description="What the toolbox is for, in a sentence. The model reads it to choose a toolbox.",
            examples=["Files and git of this checkout"],
            extra={"expected": "a string that is not empty"},
        ),
    ]
    servers: Annotated[
        dict[str, ServerConfig],
        Meta(
            description="The toolbox's servers by name, as MCP clients write them.",
            examples=[{"my-server": {"command": "npx", "args": ["-y", "some-package"]}}],
        ),
    ] = msgspec.field(name="mcpServers")
    open_deadline: Annotated[
        Seconds,
        Meta(
            description="Seconds after which `open_toolbox` answers with the servers that are ready, and "
            "names those that are still starting. Default: the `openDeadline` of the whole file.",
            examples=[5],
            extra={"expected": "a number of seconds, more than 0 and at most 100000000"},
        ),
    ] = OPEN_DEADLINE_SECONDS
    listing_budget: Annotated[
        Tokens,
        Meta(
            description="Tokens, by estimate, that an answer of `open_toolbox` may take. A list that would "
            "be longer has signatures of some tools only, or names. "
            "Default: the `listingBudget` of the whole file.",
            examples=[20000],
            extra={"expected": "a number of tokens from 500 to 10000000, in digits only"},
        ),
    ] = LISTING_BUDGET_TOKENS
    results: Annotated[
        InlineConfig,
        Meta(
            description="Which results of its servers are kept by the workbench and shown in short; false "
            "for none. Default: as the whole file has it.",
            examples=[{"inlineLimit": 100000}],
        ),
    ] = InlineConfig()
    policy: Annotated[
        PolicyConfig,
        Meta(
            description="Which tools of its servers may be called without asking, which only after a person "
            "was asked, and which not at all; and how often.",
            examples=["careful"],
        ),
    ] = NO_POLICY
    pin: Annotated[
        PinLevel,
        Meta(
            description="The `pin` of the toolbox's servers that have none of their own. "
            "Default: the `pin` of the whole file.",
            examples=["strict"],
            extra={"expected": 'a string, one of "scan", "strict", "off"'},
        ),
    ] = DEFAULT_PIN


class WorkbenchConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The configuration file: the toolboxes, and what holds for all of them."""

    toolboxes: Annotated[dict[str, ToolboxConfig], Meta(description="The toolboxes by name.")]
    open_deadline: Annotated[
        Seconds,
        Meta(
            description="The `openDeadline` of the toolboxes that have none of their own.",
            examples=[15],
            extra={"expected": "a number of seconds, more than 0 and at most 100000000"},
        ),
    ] = OPEN_DEADLINE_SECONDS
    listing_budget: Annotated[
        Tokens,
        Meta(
            description="The `listingBudget` of the toolboxes that have none of their own, and of what is "
            "found in all of them.",
            examples=[7000],
            extra={"expected": "a number of tokens from 500 to 10000000, in digits only"},
        ),
    ] = LISTING_BUDGET_TOKENS
    read_only_tool: Annotated[
        bool,
        Meta(
            description="Whether clients see one more tool, `use_tool_read_only`, which calls only tools "
            "that are pinned as read-only.",
            examples=[True],
            extra={"expected": "true or false"},
        ),
    ] = False
    http: Annotated[HttpConfig, Meta(description="Who may connect over HTTP.")] = HttpConfig()
    results: Annotated[
        ResultsConfig,
        Meta(description="Which results are kept by the workbench and shown in short; false for none."),
    ] = ResultsConfig()
    policy: Annotated[
        PolicyConfig,
        Meta(
            description="Which tools may be called without asking, which only after a person was asked, and "
            "which not at all; and how often.",
            examples=["careful"],
        ),
    ] = NO_POLICY
    pin: Annotated[
        PinLevel,
        Meta(
            description="The `pin` of the toolboxes that have none of their own: what happens to a tool "
            'whose definition changes. It is held if the change may be an attack ("scan"), after any change '
            'and if it is new ("strict"), or never ("off").',
            examples=["strict"],
            extra={"expected": 'a string, one of "scan", "strict", "off"'},
        ),
    ] = DEFAULT_PIN
    audit: Annotated[
        AuditLevel,
        Meta(
            description="What is recorded of each call for `mcp-workbench log`: nothing, who called what and "
            "how it ended, the arguments too, or also the results. Secrets are masked.",
            examples=["metadata"],
            extra={"expected": 'a string, one of "off", "metadata", "arguments", "full"'},
        ),
    ] = "metadata"


INHERITED = (frozenset(ToolboxConfig.__struct_fields__) & frozenset(WorkbenchConfig.__struct_fields__)) - {
    "policy"
}
"""The fields that a toolbox takes from the file where it does not set them itself: those that both have.

Policies are not among them: all policies that concern a call are looked at.
"""
