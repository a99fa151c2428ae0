"""A demo server that keeps short notes in memory. Speaks 2025-11-25."""

from __future__ import annotations

from itertools import count
from typing import Any, Final

from mcp_workbench.demo.serving import LEGACY, DemoServer, serve
from mcp_workbench.demo.tools import DemoTool, ToolError, an_object

_ID: Final = {"type": "integer", "description": "The note's number, as add_note gave it"}


class Notebook:
    """The notes of one process, numbered from 1."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._notes: dict[int, str] = {}

    def add(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Store a note, and return its number."""
        number = next(self._numbers)
        self._notes[number] = arguments["text"]
        return {"id": number, "notes_kept": len(self._notes)}

    def find(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the notes that contain some words, in upper or lower case."""
        wanted = arguments.get("words", "").casefold()
        found = [
            {"id": number, "text": text} for number, text in self._notes.items() if wanted in text.casefold()
        ]
        return {"notes": found}

    def delete(self, arguments: dict[str, Any]) -> str:
        """Delete a note. Raises ToolError if there is none with this number."""
        number = arguments["id"]
        if self._notes.pop(number, None) is None:
            raise ToolError(f"There is no note {number}. find_notes without words lists all of them.")
        return f"Note {number} is deleted."


def server() -> DemoServer:
    """Return the server, with an empty notebook."""
    notebook = Notebook()
    return DemoServer(
        name="notes",
        version=LEGACY,
        tools=(
            DemoTool(
                name="add_note",
                title="Add a note",
                description="Keep a short note. Notes live until the server stops.",
                run=notebook.add,
                takes=an_object({"text": {"type": "string", "description": "What to remember"}}),
                gives=an_object({"id": _ID, "notes_kept": {"type": "integer"}}),
                annotations={"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
            ),
            DemoTool(
                name="find_notes",
                title="Find notes",
                description="List the notes that contain some words, or all notes.",
                run=notebook.find,
                takes=an_object(
                    {"words": {"type": "string", "description": "Leave it out to list all notes"}},
                    optional=("words",),
                ),
                gives=an_object(
                    {"notes": {"type": "array", "items": an_object({"id": _ID, "text": {"type": "string"}})}}
                ),
            ),
            DemoTool(
                name="delete_note",
                title="Delete a note",
                description="Delete one note for good.",
                run=notebook.delete,
                takes=an_object({"id": _ID}),
                annotations={"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False},
            ),
        ),
    )


if __name__ == "__main__":
    serve(server())
