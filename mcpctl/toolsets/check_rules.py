"""What `annotate check` looks for: every rule once, with why it is one and what mends it."""

from dataclasses import dataclass

SEVERITIES = {"E": "error", "W": "warning", "I": "info"}


@dataclass(frozen=True)
class Rule:
    """One rule; its severity is in its id."""

    id: str
    what: str
    why: str
    fix: str

    @property
    def severity(self) -> str:
        """`error`, `warning` or `info`."""
        return SEVERITIES[self.id[0]]


_ALL = (
    Rule("E101", "The file is no strict JSON.", "No program reads it, so none of its tools is there.",
         "Mend the JSON at this place."),
    Rule("E102", "A member has the wrong type.", "What has another type than it should is left out without a word.",
         "Write the type that the message names; see mcpctl annotate schema."),
    Rule("E103", "A member is missing.", "An entry without it is left out without a word.", "Add the member."),
    Rule("E104", "The file is no toolset.", "It has neither tools nor toolsets, so it says nothing.",
         "Give it tools, or check another file."),
    Rule("E105", "A namespacedName is no server.tool.", "It can name no tool: the server ends at the first dot.",
         "Write server.tool, as mcpctl toolsets add does."),
    Rule("E106", "A toolset has a bad name.", "Commands and clients cannot name it.",
         "Use 2 to 50 of a to z, 0 to 9 and -; not 'none'."),
    Rule("E107", "A note has a bad name.", "It is left out, and no command adds a note of that name.",
         "Use 2 to 50 of a to z, 0 to 9 and -."),
    Rule("E108", "A tool has two notes of one name.", "Only the first one is ever shown.",
         "Rename the second, or take it out."),
    Rule("E109", "A note is too long.", "It is left out: every model would pay for it on every search.",
         "Shorten it, or write several."),
    Rule("E110", "A note is empty.", "It says nothing, and is left out.", "Write it, or take it out."),
    Rule("E111", "An override calls a tool read-only and destructive.", "What only reads destroys nothing.",
         "Keep the one that is true."),
    Rule("E112", "A hint or title is overridden twice, differently.", "Only the first one counts.",
         "Keep the one that is meant."),
    Rule("E113", "A server that is known has no such tool.", "The entry does nothing; the tool was renamed or removed.",
         "Name a tool that the server lists, or take the entry out."),
    Rule("E114", "An object has a member twice.", "Only the last one counts, as after a merge that kept both sides.",
         "Make one of them."),
    Rule("E115", "A note or title has hidden characters.", "Models read what no person sees; it is taken out.",
         "Write it anew, or delete the character at this place."),
    Rule("E116", "A tool has more notes than are shown.", "Models read the first 20, and of these 4,000 characters.",
         "Take some out, or shorten them."),
    Rule("W201", "A tool's notes outgrow the budget.", "They are in the context of every model that finds the tool.",
         "Shorten them, or raise --max-note-chars."),
    Rule("W202", "A toolset has no tools.", "With it in force nothing can be found or called.",
         "Add some: mcpctl toolsets add."),
    Rule("W203", "A tool is in the list twice.", "The second entry does nothing.", "Take one of them out."),
    Rule("W204", "A server is not known.", "Whether the tool is there cannot be said.",
         "Correct the server's name, or list its tools: mcpctl tools refresh, --live or --catalog."),
    Rule("W205", "A refId alone matches no tool.", "Its tool has changed or is gone, or its server is not known.",
         "Name the tool by namespacedName."),
    Rule("W206", "An override says nothing.", "It sets neither a hint nor a title.",
         "Set what was meant, or take it out."),
    Rule("W207", "An override has an unknown hint.", "What is not one of the protocol's four hints changes nothing.",
         "Use readOnlyHint, destructiveHint, idempotentHint or openWorldHint."),
    Rule("W208", "An override contradicts what the server declares.", "One of them is wrong about what the tool does.",
         "Make sure that it is the server; then leave the rule out with --ignore."),
    Rule("W209", "A note or override is of a tool that is not in the toolset.", "Nobody ever sees it.",
         "Add the tool to the list, or take the entry out."),
    Rule("I301", "A refId no longer matches.", "What the tool takes or promises has changed; notes may be outdated.",
         "Read the notes again, then renew the refId."),
    Rule("I302", "A repository's file loosens a hint.", "It is shown, but decides nothing: a repository may not.",
         "To have it count, keep the toolset in your own data directory."),
    Rule("I303", "An override repeats what the server declares.", "It changes nothing, until the server changes.",
         "Keep it as a safeguard, or take it out."),
)  # fmt: skip
RULES = {rule.id: rule for rule in _ALL}
FIELDS = ("id", "severity", "what", "why", "fix")
