"""Findings of `tools check`, safe to be shown to people, and its rules. A tool with an E finding is to be held."""

from dataclasses import dataclass

from mcpctl.base.rules import Rule
from mcpctl.base.texts import one_line

_ASK = "Do not use the tool before you know why; ask its author."
RULES = {rule.id: rule for rule in (
    Rule("E401", "The text has hidden characters.", "Models read what no person sees.",
         "Look at the definition byte by byte, and do not use the tool before you know why they are there."),
    Rule("E402", "The text has tags or marks of instructions.",
         "They make a description look like an instruction of the system.", _ASK),
    Rule("E403", "The text asks to conceal something from the user.",
         "A tool has no reason to hide from its user what it does.", _ASK),
    Rule("E404", "The text overrides instructions, or puts itself above the user.",
         "A description says what a tool does; it does not decide whom the model obeys.", _ASK),
    Rule("E405", "The text directs the model about a tool of another server.",
         "A server that says how another server's tool is used changes what that tool does for you.",
         "Remove the server, or compare its text with the other server's tool."),
    Rule("E406", "The text has a command or an encoded payload to be run.",
         "A model with a shell runs what a description orders.", _ASK),
    Rule("E407", "The tool is a copy of another server's tool.",
         "A model cannot tell which of the two it calls, and one of them may only want its arguments.",
         "Remove one of the two servers, or deny the tool of one."),
    Rule("E408", "The text asks to take secrets or data elsewhere.",
         "Keys, credentials and conversations leave with the arguments or for another address.", _ASK),
    Rule("E409", "The text is too long to be checked.", "The text beyond may be anything.",
         "Do not use the tool; ask its author."),
    Rule("E410", "The text orders what is not part of the tool's work.",
         "A tool does its work when it is called; it has no files, requests or arguments of others' to change.", _ASK),
    Rule("W501", "The text orders when a tool of its own server is called.",
         "It may be documentation, or a way to be called uninvited.", "Read the definition: mcpctl tools show KEY"),
    Rule("W502", "The text names files with secrets.", "Models read the files that descriptions name.",
         "Read why the tool names them: mcpctl tools show KEY"),
    Rule("W503", "A parameter asks for the model's context.",
         "The system prompt, the conversation or the model's name go to the server.",
         "Read what the parameter is for; deny the tool if you do not want to send it."),
    Rule("W504", "The tool praises itself.", "Models prefer tools that call themselves the best.",
         "Compare it with the tools that do the same."),
    Rule("W505", "The text asks to send something to a fixed address.", "Data that the model sends may go there.",
         "Check whose address it is."),
    Rule("W506", "The definition has a live secret.", "Everybody who lists the tools gets it.",
         "Tell the server's author to revoke it."),
    Rule("W507", "The name looks like the name of another tool.", "People and models take one for the other.",
         "Compare the two, and deny the one that you do not want."),
    Rule("W508", "The tool declares that it only reads, but is named or shaped like one that does not.",
         "Clients let declared read-only tools run without asking.",
         "Override the hint: mcpctl annotate set KEY --no-read-only"),
    Rule("W509", "The text quotes a phrase of an attack.",
         "As an example it is harmless; a model may still follow it.",
         "Read the definition: mcpctl tools show KEY"),
    Rule("I601", "A parameter is named like a credential.", "The model would have to know a secret.",
         "Give secrets to servers in their environment, not in arguments."),
    Rule("I602", "The tool declares no behaviour hints.", "It counts as destructive, so clients ask before each call.",
         "Set them: mcpctl annotate set KEY --read-only"),
    Rule("I603", "The text is very long.", "Every model that finds the tool pays for it, and nobody reads it whole.",
         "Read it once: mcpctl tools show KEY"),
)}  # fmt: skip

_SHOWN = 100
ERROR = "error"


@dataclass(frozen=True)
class ToolFinding:
    """A broken rule; `message` repeats a little of the definition, for people: never give it to a model."""

    key: str
    rule: str
    place: str  # where in the definition: `description`, `inputSchema.properties.city.description`
    message: str

    @property
    def severity(self) -> str:
        return RULES[self.rule].severity

    @property
    def why(self) -> str:
        return RULES[self.rule].why

    @property
    def fix(self) -> str:
        return RULES[self.rule].fix


def quoted(text: str) -> str:
    line = one_line(text[: 4 * _SHOWN])
    return f"'{line[:_SHOWN]}{'…' if len(line) > _SHOWN else ''}'"
