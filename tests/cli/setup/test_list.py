"""`mcp-workbench list`: what the file has, with its mistakes and without its secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.configs import server, tool, toolboxes

if TYPE_CHECKING:
    from tests.cli.commands import Bench

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
FILE = f"""\
{{
  // Comments are fine.
  "toolboxes": {{
    "dev": {{
      "description": "For development",
      "mcpServers": {{
        "fs": {{ "command": "npx", "args": ["-y", "${{PACKAGE}}", "my dir"], "toolFilters": ["read_*"] }},
        "hub": {{
          "command": "hub", "args": ["--token", "{TOKEN}"], "env": {{ "KEY": "{TOKEN}" }}, "disabled": true
        }},
        "docs": {{ "url": "https://me:Sup3rS3cret9@example.com/mcp?api_key={TOKEN}" }},
        "odd": {{ "comand": "x" }},
        "none": 1,
      }},
    }},
    "bad": 2,
  }},
}}
"""


def test_every_server_is_listed_with_what_it_runs_and_its_mistakes(bench: Bench) -> None:
    bench.config.write_text(FILE)
    done = bench.run("list")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "workbench-config.json: 2 toolboxes, 5 servers"
    assert lines[2:5] == [
        "dev: For development",
        "  fs    npx -y ${PACKAGE} 'my dir'  (toolFilters read_*)",
        "    mistake: toolboxes.dev.mcpServers.fs.args[1]: the variable PACKAGE is not set",
    ]
    assert "  hub   hub --token ***  (disabled)" in lines
    assert "  docs  https://***@example.com/mcp?api_key=***" in lines
    assert any("unknown key" in line or "comand" in line for line in lines)
    assert any(line.startswith("bad: ") for line in lines)
    assert TOKEN not in done.stdout
    assert "Sup3rS3cret9" not in done.stdout


def test_the_same_as_json(bench: Bench) -> None:
    bench.write(
        toolboxes(dev={"off": {"command": "x", "enabled": False}, "on": {"url": "https://a.example"}})
    )
    assert bench.run_json("list", "--json") == (
        0,
        {
            "file": "workbench-config.json",
            "toolboxes": [
                {
                    "toolbox": "dev",
                    "line": 1,
                    "description": "The dev toolbox",
                    "servers": [
                        {"server": "off", "line": 1, "state": "disabled", "runs": "x"},
                        {"server": "on", "line": 1, "state": "enabled", "runs": "https://a.example"},
                    ],
                }
            ],
        },
    )


def test_the_number_of_tools_is_shown_once_they_are_known_and_nothing_is_started(bench: Bench) -> None:
    bench.write(toolboxes(dev={"two": server(tools=[tool("a"), tool("b")])}))
    assert "tools)" not in bench.run("list").stdout
    assert bench.run("index").returncode == 0
    assert bench.run("list").stdout.endswith("(2 tools)\n")


def test_a_file_that_cannot_be_parsed_is_exit_code_2(bench: Bench) -> None:
    bench.config.write_text('{\n  "toolboxes": oops\n}\n')
    done = bench.run("list")
    assert (done.returncode, done.stdout) == (2, "")
    assert "workbench-config.json:2: column 16: invalid JSON" in done.stderr
    code, outcome = bench.run_json("list", "--json")
    assert (code, outcome["problems"][0]["where"]) == (2, "line 2, column 16")


def test_a_file_that_is_not_there_is_exit_code_2(bench: Bench) -> None:
    done = bench.run("list", "--config", "absent.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no such file" in done.stderr


def test_names_cannot_control_the_terminal(bench: Bench) -> None:
    bench.write(toolboxes(**{"de\x1b[31mv\n": {"f\x1bs": {"command": "x\x1b]0;y\x07"}}}))
    done = bench.run("list")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
