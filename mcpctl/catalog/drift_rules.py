"""The rules of `tools diff`, each with its reason and its fix."""

from mcpctl.base.rules import Rule

_LOOK = "Read what changed; if it is right: mcpctl tools approve KEY"
_ALL = (
    Rule("E701", "A hint became looser.", "Clients and rules let more happen without asking on account of it.",
         "Find out whether the tool really does less than before; if so: mcpctl tools approve KEY"),
    Rule("E702", "A new text looks like an attack on the model.", "What was harmless when it was approved is not now.",
         "Do not approve it before you know why it is there; ask the server's author."),
    Rule("W801", "A description changed.", "Models follow what descriptions say.", _LOOK),
    Rule("W802", "A schema changed.", "A parameter can ask for what the tool has no use for.", _LOOK),
    Rule("W803", "A tool is new on a known server.", "Nobody has looked at it.",
         "Read its definition; if it is right: mcpctl tools approve KEY"),
    Rule("W804", "A server's instructions changed.", "Models are told them; those that changed are held.",
         "Read them; if they are right: mcpctl tools approve --server NAME"),
    Rule("W805", "A server of that name was another program when its tools were pinned.",
         "The same name now starts another program, or with other arguments; tools that differ are held.",
         "Compare the tools; if they are right: mcpctl tools approve --server NAME"),
    Rule("W806", "The icons or the page that clients show with a tool changed.",
         "People decide by what they are shown; a page can call tools.", _LOOK),
    Rule("I901", "A tool is gone.", "What relied on it does not find it.", "Nothing, or name another in toolsets."),
    Rule("I902", "A hint was added or left out without a change of meaning, or became stricter.",
         "It loosens nothing.", _LOOK),
    Rule("I903", "A title changed.", "People tell tools apart by it.", _LOOK),
)  # fmt: skip
RULES = {rule.id: rule for rule in _ALL}
