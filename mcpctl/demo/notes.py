"""A notebook in memory, as an MCP server: `python -m mcpctl.demo.notes`"""

from mcpctl.demo.stdio_server import Json, ToolFailed, ToolServer, rule, schema

server = ToolServer("notes", "A notebook that lasts as long as this server: add, list, search, delete.")
_notes: dict[str, Json] = {}
_numbers = iter(range(1, 1_000_000_000))

_NOTE = schema(
    {
        "id": rule("string", "What delete_note takes"), "title": {"type": "string"}, "text": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "id", "title", "text", "tags",
)  # fmt: skip
_NOTES = schema(
    {"notes": {"type": "array", "items": _NOTE}, "total": rule("integer", "How many there are, beyond the limit too")},
    "notes",
    "total",
)
_LIMIT = rule("integer", "How many notes at most", minimum=1, maximum=100, default=20)
_TAGS = rule("array", "Labels to find it by; case does not matter", items={"type": "string"}, default=[])


@server.tool({
    "name": "add_note",
    "title": "Add a note",
    "description": "Write a new note and return it with its id. Two notes may have the same title.",
    "inputSchema": schema(
        {
            "title": rule("string", "A few words that say what it is about", minLength=1),
            "text": rule("string", "The note itself, plain text or Markdown", minLength=1),
            "tags": _TAGS,
        },
        "title", "text",
    ),
    "outputSchema": _NOTE,
    "annotations": {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False},
})  # fmt: skip
def add_note(given: Json) -> Json:
    note = {"id": f"note-{next(_numbers)}", **given, "tags": [tag.lower() for tag in given["tags"]]}
    _notes[note["id"]] = note
    return note


@server.tool({
    "name": "list_notes",
    "title": "List notes",
    "description": "List the notes, optionally only those with a tag.",
    "inputSchema": schema({
        "tag": rule("string", "Only notes with this tag"),
        "sort": rule("string", "The order of the notes", enum=["newest", "oldest", "title"], default="newest"),
        "limit": _LIMIT,
    }),
    "outputSchema": _NOTES,
    "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
})  # fmt: skip
def list_notes(given: Json) -> Json:
    notes = [note for note in _notes.values() if "tag" not in given or given["tag"].lower() in note["tags"]]
    if given["sort"] == "title":
        notes.sort(key=lambda note: str(note["title"]).lower())
    elif given["sort"] == "newest":
        notes.reverse()
    return _page(notes, given)


@server.tool({
    "name": "search_notes",
    "title": "Search notes",
    "description": "Find the notes that contain every word of a query, ignoring case.",
    "inputSchema": schema(
        {
            "query": rule("string", "Words that must all occur, in any order", minLength=1),
            "field": rule("string", "Where to look", enum=["title", "text", "tags", "anywhere"], default="anywhere"),
            "limit": _LIMIT,
        },
        "query",
    ),
    "outputSchema": _NOTES,
    "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
})  # fmt: skip
def search_notes(given: Json) -> Json:
    fields = ("title", "text", "tags") if given["field"] == "anywhere" else (given["field"],)
    words = given["query"].lower().split()

    def matches(note: Json) -> bool:
        content = " ".join(str(note[field]) for field in fields).lower()
        return all(word in content for word in words)

    return _page([note for note in reversed(_notes.values()) if matches(note)], given)


@server.tool({
    "name": "delete_note",
    "title": "Delete a note",
    "description": "Delete one note for good, and return it a last time. There is no undo.",
    "inputSchema": schema(
        {"id": rule("string", "The note's id, such as note-3, from any of the other tools")}, "id"
    ),
    "outputSchema": _NOTE,
    "annotations": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
})  # fmt: skip
def delete_note(given: Json) -> Json:
    if given["id"] not in _notes:
        known = ", ".join(_notes) or "none, the notebook is empty"
        raise ToolFailed(f"there is no note {given['id']!r}; the notes are: {known}")
    return _notes.pop(given["id"])


def _page(notes: list[Json], given: Json) -> Json:
    return {"notes": notes[: given["limit"]], "total": len(notes)}


if __name__ == "__main__":
    server.run()
