"""Where the file is looked for, and files that cannot be read at all."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from mcp_workbench.config import WorkbenchConfig, load, locate, stamp_of
from mcp_workbench.config.places import configuration_directory
from mcp_workbench.config.source import reading
from mcp_workbench.errors import ConfigError, Problem
from tests.config.loading import load_content, problems, write
from tests.support.privileges import ordinary_user


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working directory without a configuration file."""
    directory = tmp_path / "elsewhere"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


def test_the_option_comes_first_then_the_variable_the_directory_and_the_own_file(elsewhere: Path) -> None:
    environ = {"WORKBENCH_CONFIG": "from-variable.json", "XDG_CONFIG_HOME": "/home/ada/settings"}
    assert locate("from-option.json", environ) == "from-option.json"
    assert locate(None, environ) == "from-variable.json"
    del environ["WORKBENCH_CONFIG"]
    assert locate(None, environ) == "/home/ada/settings/mcp-workbench/workbench-config.json"
    (elsewhere / "workbench-config.json").touch()
    assert locate(None, environ) == "workbench-config.json"


def test_an_empty_variable_counts_as_not_set(elsewhere: Path) -> None:
    (elsewhere / "workbench-config.json").touch()
    assert locate(None, {"WORKBENCH_CONFIG": ""}) == "workbench-config.json"


@pytest.mark.parametrize(
    ("system", "environ", "expected"),
    [
        ("linux", {}, "/home/ada/.config/mcp-workbench"),
        ("linux", {"XDG_CONFIG_HOME": "/settings"}, "/settings/mcp-workbench"),
        ("linux", {"XDG_CONFIG_HOME": "relative"}, "/home/ada/.config/mcp-workbench"),
        ("darwin", {"XDG_CONFIG_HOME": "/x"}, "/home/ada/Library/Application Support/mcp-workbench"),
        ("win32", {"APPDATA": "/roaming"}, "/roaming/mcp-workbench"),
        ("win32", {}, "/home/ada/AppData/Roaming/mcp-workbench"),
    ],
)
def test_the_own_file_is_in_the_configuration_directory_of_the_system(
    monkeypatch: pytest.MonkeyPatch, system: str, environ: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr("sys.platform", system)
    assert configuration_directory({"HOME": "/home/ada", "USERPROFILE": "/home/ada", **environ}) == expected


def test_a_user_without_a_home_has_no_file_of_their_own(elsewhere: Path) -> None:
    environ = {"HOME": "nowhere"}
    assert (configuration_directory(environ), locate(None, environ)) == (None, "workbench-config.json")
    assert list(elsewhere.iterdir()) == []


def test_a_tilde_is_the_home_directory_because_clients_start_us_without_a_shell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert locate("~/workbench.json", {}) == str(tmp_path / "workbench.json")


def test_a_missing_file_shows_the_four_places_and_an_example_that_loads(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.json"
    with pytest.raises(ConfigError) as raised:
        load(path, {"WORKBENCH_CONFIG": str(path), "XDG_CONFIG_HOME": "/settings"})
    (problem,) = raised.value.problems
    assert problem.what == f"there is no such file: {path}"
    for place in (
        "--config FILE",
        f"$WORKBENCH_CONFIG ({path})",
        f"./workbench-config.json (in {Path.cwd()})",
        "/settings/mcp-workbench/workbench-config.json",
    ):
        assert place in problem.remedy
    assert problem.remedy.startswith(
        "Create it from the servers that your MCP clients have: mcp-workbench import\n"
    )
    example = problem.remedy[problem.remedy.index("{") : problem.remedy.rindex("}") + 1]
    assert list(load_content(tmp_path, example).config.toolboxes) == ["dev"]


def test_a_missing_file_is_reported_even_from_a_directory_that_was_deleted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match=r"there is no such file: workbench-config\.json"):
        load("workbench-config.json", {})


def test_the_stamp_is_that_of_the_file_until_it_is_replaced(tmp_path: Path) -> None:
    loaded = load_content(tmp_path, {"toolboxes": {}})
    path = Path(loaded.path)
    assert loaded.stamp == stamp_of(path.stat())
    copy = tmp_path / "copy.json"
    copy.write_bytes(path.read_bytes())
    copy.rename(path)
    assert loaded.stamp != stamp_of(path.stat())


def test_every_failure_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=str(tmp_path / "nowhere.json")):
        load(tmp_path / "nowhere.json", {})


def test_a_directory_is_refused_with_the_file_to_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, {})
    expected = Problem(
        "", "this is a directory", f"Name the file in it: {tmp_path / 'workbench-config.json'}"
    )
    assert raised.value.problems == (expected,)


def test_a_file_without_permission_is_refused() -> None:
    with ordinary_user() as directory:
        path = write(directory, {"toolboxes": {}})
        path.chmod(0)
        with pytest.raises(ConfigError, match="the file cannot be read: permission denied"):
            load(path, {})


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be read: Not a directory"):
        load(tmp_path / "file" / "workbench-config.json", {})


@pytest.mark.parametrize("content", [b"", b" \n\t", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused_with_an_example(tmp_path: Path, content: bytes) -> None:
    (problem,) = problems(tmp_path, content)
    assert problem.what == "the file is empty"
    assert "Start from this" in problem.remedy


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    loaded = load_content(tmp_path, b'\xef\xbb\xbf{"toolboxes": {}}')
    assert loaded.config == WorkbenchConfig(toolboxes={})


def test_bytes_that_are_not_utf_8_are_refused_with_their_line(tmp_path: Path) -> None:
    content = '{\n  "toolboxes": {"caf\xe9": 1}}'.encode("latin-1")
    assert problems(tmp_path, content) == [
        Problem("line 2", "the file is not UTF-8", "Save it with the encoding UTF-8.")
    ]


def test_utf_16_is_recognised(tmp_path: Path) -> None:
    assert problems(tmp_path, '{"toolboxes": {}}'.encode("utf-16")) == [
        Problem("line 1", "the file is UTF-16", "Save it with the encoding UTF-8.")
    ]


def test_a_file_without_an_end_is_not_read_into_memory(tmp_path: Path) -> None:
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(16 * 1024 * 1024 + 1)
    too_large = Problem("", "the file is larger than 16,777,216 bytes", "Check that it is the right one.")
    for path in (huge, Path("/dev/zero")):
        with pytest.raises(ConfigError) as refused:
            load(path, {})
        assert refused.value.problems == (too_large,)


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    text = json.dumps({"toolboxes": {"dev": {"description": "D" * 200_000, "mcpServers": {}}}})
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    loaded = load(pipe, {})
    writer.join()
    assert len(loaded.config.toolboxes["dev"].description) == 200_000


def test_a_pipe_without_a_writer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PIPE_TIMEOUT_SECONDS", 0.05)
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match=r"nothing was written into this pipe for 0\.05 s"):
        load(pipe, {})
