"""The clients that the workbench knows: where each keeps its servers, in which form, with which quirks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_workbench.config.clients.model import Client, ClientFile, EntryForm
from mcp_workbench.config.entries.dialects import AMP, CLAUDE_CODE, CLINE, GEMINI, MILLISECONDS, OPENCODE

if TYPE_CHECKING:
    from mcp_workbench.config.clients.model import System

    Paths = dict[System, tuple[str, ...]]

_SERVERS = ("mcpServers",)
_INSIDE_CODE = ("Code", "Code - Insiders")
_CLINE = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
_ROO = "User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
_PASTE_JETBRAINS = "Settings | Tools | AI Assistant | Model Context Protocol (MCP), Add, As JSON"


def _everywhere(*paths: str) -> Paths:
    return {"linux": paths, "darwin": paths, "win32": paths}


def _but_on_windows(windows: tuple[str, ...], *paths: str) -> Paths:
    return {"linux": paths, "darwin": paths, "win32": windows}


def _in_code(path: str) -> tuple[str, ...]:
    """Return where an extension of VS Code keeps a file: on this machine, and where VS Code runs remotely."""
    local = (f"{{config}}/{code}/{path}" for code in _INSIDE_CODE)
    return (*local, f"{{home}}/.vscode-server/data/{path}", f"{{home}}/.vscode-server-insiders/data/{path}")


def _vscode(directory: str, server: str) -> tuple[ClientFile, ...]:
    user = f"{{config}}/{directory}/User"
    remote = f"{{home}}/{server}/data"
    return (
        ClientFile(
            scope="user",
            key=("servers",),
            paths=_everywhere(f"{user}/mcp.json", f"{remote}/User/mcp.json", f"{remote}/Machine/mcp.json"),
        ),
        ClientFile(
            scope="user",
            key=("servers",),
            paths=_everywhere(f"{user}/profiles/*/mcp.json"),
            is_installable=False,
        ),
        ClientFile(
            scope="user",
            key=("mcp", "servers"),
            paths=_everywhere(f"{user}/settings.json", f"{remote}/Machine/settings.json"),
            is_installable=False,
        ),
        ClientFile(scope="project", key=("servers",), paths=_everywhere("{project}/.vscode/mcp.json")),
        ClientFile(
            scope="project",
            key=("mcp", "servers"),
            paths=_everywhere("{project}/.vscode/settings.json"),
            is_installable=False,
        ),
    )


_NEW_SESSION = "Start a new session of {title}."
_RELOAD = "Reload the window of {title}, or restart it."
_RELOAD_EDITOR = "Reload the window of the editor that {title} runs in."
_RELOAD_VSCODE = "Reload the window of {title}; the command 'MCP: List Servers' starts it."

CLIENTS: tuple[Client, ...] = (
    Client(
        id="claude-desktop",
        title="Claude Desktop",
        after_install="Quit {title} completely, and start it again.",
        aliases=("claude-app",),
        files=(
            ClientFile(
                scope="user",
                key=_SERVERS,
                paths={
                    "linux": (
                        "{config}/Claude/claude_desktop_config.json",
                        "{config}/claude/claude_desktop_config.json",
                    ),
                    "darwin": ("{config}/Claude/claude_desktop_config.json",),
                    "win32": ("{config}/Claude/claude_desktop_config.json",),
                },
            ),
        ),
    ),
    Client(
        id="claude-code",
        title="Claude Code",
        after_install="Start a new session of {title}; /mcp shows its servers.",
        aliases=("claude", "claude-cli"),
        dialect=CLAUDE_CODE,
        references="shell",
        outer_limits="claude-code",
        files=(
            ClientFile(
                scope="user",
                key=_SERVERS,
                paths=_everywhere("{env:CLAUDE_CONFIG_DIR}/.claude.json", "{home}/.claude.json"),
            ),
            ClientFile(
                scope="project", key=_SERVERS, paths=_everywhere("{project}/.mcp.json"), may_be_flat=True
            ),
            ClientFile(
                scope="project",
                key=("projects", "{project}", "mcpServers"),
                paths=_everywhere("{env:CLAUDE_CONFIG_DIR}/.claude.json", "{home}/.claude.json"),
                is_installable=False,
            ),
        ),
        form=EntryForm(first={"type": "stdio"}),
    ),
    Client(
        id="cursor",
        title="Cursor",
        after_install=_RELOAD,
        passes_workspace=True,
        references="editor",
        files=(
            ClientFile(scope="user", key=_SERVERS, paths=_everywhere("{home}/.cursor/mcp.json")),
            ClientFile(scope="project", key=_SERVERS, paths=_everywhere("{project}/.cursor/mcp.json")),
        ),
    ),
    Client(
        id="vscode",
        title="VS Code",
        after_install=_RELOAD_VSCODE,
        passes_workspace=True,
        aliases=("code", "vs-code", "visual-studio-code", "copilot"),
        references="editor",
        files=_vscode("Code", ".vscode-server"),
        form=EntryForm(first={"type": "stdio"}),
    ),
    Client(
        id="vscode-insiders",
        title="VS Code Insiders",
        after_install=_RELOAD_VSCODE,
        passes_workspace=True,
        aliases=("code-insiders", "vs-code-insiders"),
        references="editor",
        files=_vscode("Code - Insiders", ".vscode-server-insiders"),
        form=EntryForm(first={"type": "stdio"}),
    ),
    Client(
        id="copilot-cli",
        title="GitHub Copilot CLI",
        after_install=_NEW_SESSION,
        aliases=("github-copilot-cli", "gh-copilot"),
        dialect=MILLISECONDS,
        references="dollar",
        files=(
            ClientFile(
                scope="user",
                key=_SERVERS,
                paths=_everywhere("{env:COPILOT_HOME}/mcp-config.json", "{home}/.copilot/mcp-config.json"),
            ),
        ),
        form=EntryForm(first={"type": "local"}, last={"tools": ["*"]}),
    ),
    Client(
        id="windsurf",
        title="Windsurf",
        after_install=_RELOAD,
        aliases=("codeium",),
        references="editor",
        files=(
            ClientFile(
                scope="user",
                key=_SERVERS,
                paths=_everywhere(
                    "{home}/.codeium/windsurf/mcp_config.json",
                    "{home}/.codeium/windsurf-next/mcp_config.json",
                    "{home}/.codeium/mcp_config.json",
                ),
            ),
        ),
    ),
    Client(
        id="codex",
        title="Codex",
        after_install=_NEW_SESSION,
        aliases=("codex-cli", "openai-codex"),
        files=(
            ClientFile(
                scope="user",
                format="toml",
                key=("mcp_servers",),
                paths=_everywhere("{env:CODEX_HOME}/config.toml", "{home}/.codex/config.toml"),
            ),
            ClientFile(
                scope="project",
                format="toml",
                key=("mcp_servers",),
                paths=_everywhere("{project}/.codex/config.toml"),
            ),
        ),
        # Ten seconds, the client's default, are short for a workbench whose servers are downloaded first.
        form=EntryForm(last={"startup_timeout_sec": 60}),
    ),
    Client(
        id="gemini-cli",
        title="Gemini CLI",
        after_install=_NEW_SESSION,
        aliases=("gemini",),
        dialect=GEMINI,
        references="dollar",
        outer_limits="gemini",
        files=(
            ClientFile(scope="user", key=_SERVERS, paths=_everywhere("{home}/.gemini/settings.json")),
            ClientFile(scope="project", key=_SERVERS, paths=_everywhere("{project}/.gemini/settings.json")),
        ),
    ),
    Client(
        id="antigravity",
        title="Antigravity",
        aliases=("google-antigravity",),
        references="editor",
        files=(
            ClientFile(
                scope="user",
                key=_SERVERS,
                paths=_everywhere(
                    "{home}/.gemini/antigravity/mcp_config.json", "{home}/.gemini/config/mcp_config.json"
                ),
            ),
        ),
    ),
    Client(
        id="zed",
        title="Zed",
        outer_limits="zed",
        skipped_types=("extension",),
        files=(
            ClientFile(
                scope="user",
                key=("context_servers",),
                paths=_but_on_windows(("{config}/Zed/settings.json",), "{dotconfig}/zed/settings.json"),
            ),
            ClientFile(
                scope="project", key=("context_servers",), paths=_everywhere("{project}/.zed/settings.json")
            ),
        ),
        form=EntryForm(first={"source": "custom", "enabled": True}, always_has_env=True),
    ),
    Client(
        id="cline",
        title="Cline",
        after_install=_RELOAD_EDITOR,
        dialect=CLINE,
        references="editor",
        files=(
            ClientFile(
                scope="user",
                key=_SERVERS,
                paths=_everywhere(*_in_code(_CLINE), "{home}/.cline/data/settings/cline_mcp_settings.json"),
            ),
        ),
        form=EntryForm(last={"disabled": False}),
    ),
    Client(
        id="roo-code",
        title="Roo Code",
        after_install=_RELOAD_EDITOR,
        aliases=("roo", "roo-cline"),
        dialect=CLINE,
        references="editor",
        files=(
            ClientFile(scope="user", key=_SERVERS, paths=_everywhere(*_in_code(_ROO))),
            ClientFile(scope="project", key=_SERVERS, paths=_everywhere("{project}/.roo/mcp.json")),
        ),
        form=EntryForm(last={"disabled": False}),
    ),
    Client(
        id="continue",
        title="Continue",
        after_install=_RELOAD_EDITOR,
        new_file={"name": "Local Config", "version": "1.0.0", "schema": "v1"},
        aliases=("continue-dev",),
        references="continue",
        files=(
            ClientFile(
                scope="user",
                format="yaml",
                key=_SERVERS,
                is_list=True,
                paths=_everywhere("{home}/.continue/config.yaml"),
            ),
            ClientFile(
                scope="user",
                format="yaml",
                key=_SERVERS,
                is_list=True,
                paths=_everywhere("{home}/.continue/mcpServers/*.yaml", "{home}/.continue/mcpServers/*.yml"),
                is_installable=False,
            ),
            ClientFile(
                scope="project",
                format="yaml",
                key=_SERVERS,
                is_list=True,
                paths=_everywhere(
                    "{project}/.continue/mcpServers/*.yaml", "{project}/.continue/mcpServers/*.yml"
                ),
                is_installable=False,
            ),
            ClientFile(
                scope="project",
                key=_SERVERS,
                paths=_everywhere("{project}/.continue/mcpServers/*.json"),
                is_installable=False,
            ),
        ),
        form=EntryForm(has_name=True),
    ),
    Client(
        id="goose",
        title="Goose",
        after_install=_NEW_SESSION,
        aliases=("block-goose",),
        header_references="dollar",
        asks_for_env_keys=True,
        outer_limits="goose",
        skipped_types=("builtin", "platform", "frontend", "inline_python"),
        files=(
            ClientFile(
                scope="user",
                format="yaml",
                key=("extensions",),
                paths=_but_on_windows(
                    ("{config}/Block/goose/config/config.yaml",), "{dotconfig}/goose/config.yaml"
                ),
            ),
        ),
        form=EntryForm(
            first={"enabled": True, "type": "stdio"},
            has_name=True,
            command_key="cmd",
            env_key="envs",
            last={"timeout": 300},
        ),
    ),
    Client(
        id="lm-studio",
        title="LM Studio",
        aliases=("lmstudio",),
        files=(
            ClientFile(
                scope="user",
                key=_SERVERS,
                paths=_everywhere("{home}/.lmstudio/mcp.json", "{home}/.cache/lm-studio/mcp.json"),
            ),
        ),
    ),
    Client(
        id="opencode",
        title="OpenCode",
        after_install=_NEW_SESSION,
        aliases=("open-code",),
        dialect=OPENCODE,
        references="opencode",
        outer_limits="opencode",
        files=(
            ClientFile(
                scope="user",
                key=("mcp",),
                paths=_but_on_windows(
                    (
                        "{env:OPENCODE_CONFIG}",
                        "{home}/.config/opencode/opencode.jsonc",
                        "{home}/.config/opencode/opencode.json",
                        "{localappdata}/opencode/opencode.jsonc",
                        "{localappdata}/opencode/opencode.json",
                    ),
                    "{env:OPENCODE_CONFIG}",
                    "{dotconfig}/opencode/opencode.jsonc",
                    "{dotconfig}/opencode/opencode.json",
                ),
            ),
            ClientFile(
                scope="project",
                key=("mcp",),
                paths=_everywhere("{project}/opencode.jsonc", "{project}/opencode.json"),
            ),
        ),
        form=EntryForm(
            first={"type": "local"}, is_one_list=True, env_key="environment", last={"enabled": True}
        ),
    ),
    Client(
        id="kiro",
        title="Kiro",
        after_install=_RELOAD,
        dialect=MILLISECONDS,
        references="shell",
        files=(
            ClientFile(scope="user", key=_SERVERS, paths=_everywhere("{home}/.kiro/settings/mcp.json")),
            ClientFile(scope="project", key=_SERVERS, paths=_everywhere("{project}/.kiro/settings/mcp.json")),
        ),
        form=EntryForm(last={"disabled": False}),
    ),
    Client(
        id="amp",
        title="Amp",
        after_install=_NEW_SESSION,
        aliases=("ampcode", "sourcegraph-amp"),
        dialect=AMP,
        references="shell",
        outer_limits="amp",
        files=(
            ClientFile(
                scope="user",
                key=("amp.mcpServers",),
                paths=_but_on_windows(
                    ("{config}/amp/settings.json", "{home}/.config/amp/settings.json"),
                    "{dotconfig}/amp/settings.json",
                    "{dotconfig}/amp/settings.jsonc",
                ),
            ),
            ClientFile(
                scope="project", key=("amp.mcpServers",), paths=_everywhere("{project}/.amp/settings.json")
            ),
        ),
    ),
    Client(
        id="junie",
        title="Junie",
        references="shell",
        files=(
            ClientFile(scope="user", key=_SERVERS, paths=_everywhere("{home}/.junie/mcp/mcp.json")),
            ClientFile(scope="project", key=_SERVERS, paths=_everywhere("{project}/.junie/mcp/mcp.json")),
        ),
    ),
    Client(
        id="crush",
        title="Crush",
        after_install=_NEW_SESSION,
        references="command",
        files=(
            ClientFile(
                scope="user",
                key=("mcp",),
                paths=_but_on_windows(
                    ("{localappdata}/crush/crush.json", "{home}/.config/crush/crush.json"),
                    "{dotconfig}/crush/crush.json",
                ),
            ),
            ClientFile(
                scope="project",
                key=("mcp",),
                paths=_everywhere("{project}/.crush.json", "{project}/crush.json"),
            ),
        ),
        form=EntryForm(first={"type": "stdio"}),
    ),
    Client(
        id="amazon-q",
        title="Amazon Q CLI",
        after_install=_NEW_SESSION,
        aliases=("amazonq", "q", "q-cli"),
        dialect=MILLISECONDS,
        references="editor",
        outer_limits="amazon-q",
        files=(
            ClientFile(scope="user", key=_SERVERS, paths=_everywhere("{home}/.aws/amazonq/mcp.json")),
            ClientFile(
                scope="user",
                key=_SERVERS,
                paths=_everywhere(
                    "{home}/.aws/amazonq/agents/default.json", "{home}/.aws/amazonq/default.json"
                ),
                is_installable=False,
            ),
            ClientFile(scope="project", key=_SERVERS, paths=_everywhere("{project}/.amazonq/mcp.json")),
            ClientFile(
                scope="project",
                key=_SERVERS,
                paths=_everywhere("{project}/.amazonq/default.json"),
                is_installable=False,
            ),
        ),
    ),
    Client(
        id="jetbrains",
        title="JetBrains AI Assistant",
        aliases=("jetbrains-ai", "intellij", "ai-assistant"),
        paste=_PASTE_JETBRAINS,
    ),
)
"""Every client that the workbench can read servers from, or be installed in."""


def client_named(text: str) -> Client | None:
    """Return the client with this id, title or alias, however it is spaced and capitalised, or None."""
    wanted = _fold(text)
    for client in CLIENTS:
        if wanted in map(_fold, (client.id, client.title, *client.aliases)):
            return client
    return None


def _fold(text: str) -> str:
    return re.sub(r"[\s_-]+", "", text).lower()
