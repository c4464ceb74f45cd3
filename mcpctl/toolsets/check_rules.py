"""The rules of `annotate check`, each with its reason and its fix."""

from dataclasses import dataclass

SEVERITIES = {"E": "error", "W": "warning", "I": "info"}


@dataclass(frozen=True)
class Rule:
    """One rule; the first letter of its id is its severity."""

    id: str
    what: str
    why: str
    fix: str

    @property
    def severity(self) -> str:
        """`error`, `warning` or `info`."""
        return SEVERITIES[self.id[0]]


_ALL = (
    Rule("E101", "The file is not strict JSON.", "No program can read it, so none of its tools counts.",
         "Fix the JSON at this place."),
    Rule("E102", "A member has the wrong type.", "A member of another type is ignored without a word.",
         "Write the type that the message names; see mcpctl annotate schema."),
    Rule("E103", "A member is missing.", "An entry without it is ignored without a word.", "Add the member."),
    Rule("E104", "The file is not a toolset.", "It has neither tools nor toolsets, so it has no effect.",
         "Give it tools, or check another file."),
    Rule("E105", "A namespacedName is not server.tool.",
         "It names no tool: the part before the first dot is the server.",
         "Write server.tool, as mcpctl toolsets add does."),
    Rule("E106", "A toolset has a bad name.", "Commands and clients cannot name it.",
         "Use 2 to 50 of a to z, 0 to 9 and -; not 'none'."),
    Rule("E107", "A note has a bad name.", "It is left out, and no command adds a note of that name.",
         "Use 2 to 50 of a to z, 0 to 9 and -."),
    Rule("E108", "A tool has two notes of one name.", "Only the first one is ever shown.",
         "Rename the second, or remove it."),
    Rule("E109", "A note is too long.", "It is ignored: every model would pay for it on every search.",
         "Shorten it, or write several."),
    Rule("E110", "A note is empty.", "It says nothing, so it is ignored.", "Write it, or remove it."),
    Rule("E111", "An override calls a tool read-only and destructive.", "What only reads destroys nothing.",
         "Keep the one that is true."),
    Rule("E112", "A hint or title is overridden twice with different values.", "Only the first one counts.",
         "Keep the one that is meant."),
    Rule("E113", "The server is known, but has no such tool.",
         "The entry does nothing; the tool was renamed or removed.",
         "Name a tool that the server lists, or remove the entry."),
    Rule("E114", "An object has a member twice.",
         "Only the last one counts; a merge that keeps both sides causes this.",
         "Combine them into one."),
    Rule("E115", "A note or title has hidden characters.",
         "Models would read what no person sees, so mcpctl removes it.",
         "Delete the character at this place, or rewrite the text."),
    Rule("E116", "A tool has more notes than are shown.",
         "Models read the first 20 notes, and 4,000 characters of them.",
         "Remove some, or shorten them."),
    Rule("E117", "A rule of the policy is wrong.",
         "A toolset may only deny or ask; with a rule that cannot be understood, it cannot be used.",
         "Write deny or ask with server:tool, where * stands for any text, or a class such as @destructive."),
    Rule("W201", "A tool's notes outgrow the budget.", "They are in the context of every model that finds the tool.",
         "Shorten them, or raise --max-note-chars."),
    Rule("W202", "A toolset has no tools.", "With it in force, no tool can be found or called.",
         "Add some: mcpctl toolsets add."),
    Rule("W203", "A tool is in the list twice.", "The second entry does nothing.", "Remove one of them."),
    Rule("W204", "A server is not known.", "It is unknown whether the tool exists.",
         "Correct the server's name, or list its tools: mcpctl tools refresh, --live or --catalog."),
    Rule("W205", "A refId without a name matches no tool.",
         "Its tool has changed or is gone, or its server is not known.",
         "Name the tool by namespacedName."),
    Rule("W206", "An override is empty.", "It sets neither a hint nor a title.",
         "Set a hint or a title, or remove the override."),
    Rule("W207", "An override has an unknown hint.", "Only the protocol's four hints have an effect.",
         "Use readOnlyHint, destructiveHint, idempotentHint or openWorldHint."),
    Rule("W208", "An override contradicts what the server declares.", "One of them is wrong about what the tool does.",
         "Check what the tool does; if the server is wrong, leave out this rule with --ignore W208."),
    Rule("W209", "A note or override is for a tool that is not in the toolset.", "Nobody ever sees it.",
         "Add the tool to the list, or remove the entry."),
    Rule("I301", "A refId no longer matches.",
         "The tool's parameters, output or hints have changed; notes may be outdated.",
         "Read the notes again, then renew the refId."),
    Rule("I302", "A repository's file loosens a hint.",
         "It is shown, but permits nothing: a repository's file may not loosen.",
         "If it should count, keep the toolset in your own data directory."),
    Rule("I303", "An override repeats what the server declares.", "It changes nothing, until the server changes.",
         "Keep it as a safeguard, or remove it."),
)  # fmt: skip
RULES = {rule.id: rule for rule in _ALL}
FIELDS = ("id", "severity", "what", "why", "fix")
