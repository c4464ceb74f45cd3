"""Which tool is called, and when: W501 order, W504 praise, and of E405 what needs no other tool to be known."""

from mcpctl.checks.phrases import Phrase

_ORDER = (
    Phrase(
        "W501", "orders that it is called first",
        ("any other", "all other", "first", "before", "prior to", "other tool"),
        r"\b(?:must|always|should|need to|required to|shall|have to)\bG40\b(?:call|use|run|invoke|execute"
        r"|consult)\w*\b(?: by)?(?: the)? ?this (?:tool|function)\bG40\b(?:first|before|prior|immediately|every"
        r"|each)\b",
    ),
    Phrase(
        "W501", "orders that it is called first",
        ("before ", "prior to"),
        r"\b(?:before|prior to) (?:using |calling |invoking |executing |running |performing |accessing |doing "
        r"|responding to )?(?:any|all|every|each)(?: of the)?(?: other)? (?:[\w-]+ ){0,2}(?:tools?|functions?"
        r"|operations?|actions?|requests?|commands?|calls?|quer(?:y|ies)|tasks?)\b",
        near=r"\b(?:must|always|first|required|mandatory|need|needs|should|have to|has to)\b",
    ),
    Phrase(
        "W501", "orders what is done before it is used",
        ("before", "prior to", "after"),
        r"\b(?:before|prior to|after) (?:you )?(?:use|using|call|calling|invoke|invoking|run|running|execute"
        r"|executing) this (?:tool|function)\b",
        near=r"\b(?:must|always|first|required|mandatory|need to|have to|ensure)\b",
    ),
    Phrase(
        "W501", "speaks to the model",
        ("note to", "note for", "assistant", "llm", "ai ", "agent"),
        r"\b(?:note (?:to|for) (?:the )?(?:assistant|ai|model|llm|agent)s?|(?:assistant|llm|ai|model"
        r"|agent) (?:note|instruction|directive)s? ?:)",
    ),
)  # fmt: skip

_PRAISE = (
    Phrase(
        "W504", "praises itself",
        ("world", "best ", "most ", "ultimate", "superior", "unmatched", "unparallel", "unrival", "#1",
         "number one", "trusted by", "better than", "outperform", "prefer", "recommended by", "obsolete",
         "leading", "perfect", "official", "state-of-the-art", "guaranteed", "advanced", "exclusively",
         "instead of", "highest", "industry"),
        r"\b(?:world|industry|market)(?:'s|-| )(?:best|most|leading|first|#1|top|fastest|class|renowned)"
        r"|\b(?:the )?(?:(?:very )?best|most (?:accurate|reliable|advanced|powerful|trusted|secure|comprehensive"
        r"|popular|efficient|authoritative|complete|effective|trustworthy)|ultimate|superior|unmatched"
        r"|unparalleled|unrivall?ed|#1|number one|no\. 1|perfect|highest[- ]quality"
        r"|state-of-the-art) (?:[\w-]+,? (?:and )?){0,4}(?:tool|service|choice|solution|option|api|function|server"
        r"|source)\b|\btrusted by (?:over |more than |millions|thousands|\d)|\b(?:better|faster|safer"
        r"|more \w+) than (?:all|any|every|other|the other|alternative)s?\b|\boutperforms? "
        r"|\brecommended by (?:experts|professionals|\d|all|most|anthropic|openai)|\b(?:should|must"
        r"|always)(?: be)? (?:prefer this|preferred|prioriti[sz]ed|prioriti[sz]e this|choose this|select this)\b"
        r"|\b(?:use|choose|prefer|select|pick|call) this (?:tool|function|server) (?:first|only|exclusively"
        r"|instead|over|rather than)|\bother (?:similar )?(?:tools|servers|services) (?:are|is|have|should|must"
        r"|may) (?:\w+ ){0,2}(?:obsolete|deprecated|inferior|unreliable|insecure|outdated|avoided|broken"
        r"|not be used|less)|\b(?:an? |the )(?:advanced|improved|enhanced|upgraded|superior|better|premium"
        r"|optimized) (?:version|alternative|replacement) (?:of|to|for)\b|\b(?:no|without any|zero) (?:errors"
        r"|mistakes|competition)\b|\b100% (?:accurate|reliable|success|guaranteed|free of)",
    ),
)  # fmt: skip

SHADOWS = (
    Phrase(
        "E405", "directs the model about other servers",
        ("other server", "other mcp server", "another server", "another mcp server", "different server"),
        r"\b(?:do not|never|avoid|stop) (?:use|using|call|calling|trust|trusting|invoke|invoking)\bG25\b(?:other"
        r"|another|different) (?:mcp )?servers?\b|\btools? (?:of|from|on|by) (?:any |all )?(?:other"
        r"|another) (?:mcp )?servers?\bG40\b(?:must not|should not|never|are unsafe|are insecure|are deprecated"
        r"|are obsolete|are disabled|compromised)\b",
    ),
    Phrase(
        "E405", "changes what another tool does",
        ("behavio", "side effect", "side-effect", "supersede", "replaces its", "replace its", "is called",
         "is invoked", "is used", "is executed", "was called", "are called", "calling", "invoking", "calls",
         "invoke"),
        r"\b(?:modif|chang|alter|overrid|affect|influenc|tak|has|replac|intercept"
        r"|control)\w* (?:\w+ ){0,4}?(?:behaviou?r|side[- ]?effect|operation|functioning|semantics|output"
        r"|results?)s? (?:of|on) (?:the )?(?:also present |other |existing )*ID\b",
        quotable=False,
    ),
    Phrase(
        "E405", "takes another tool's place",
        ("supersede", "takes over", "functionality"),
        r"\b(?:supersedes?|takes over|replaces the functionality of) (?:the )?ID\b",
        quotable=False,
    ),
    Phrase(
        "E405", "directs the model about another tool",
        ("is called", "is invoked", "is used", "is executed", "is triggered", "is run", "was called",
         "gets called"),
        r"\b(?:when|whenever|each time|every time|any time|anytime|once|if|after|before) (?:the )?ID(?: (?:tool"
        r"|function))? (?:is|gets|was|has been) (?:ever )?(?:called|invoked|used|executed|triggered"
        r"|run)\bG90\b(?:must|first|always|also|instead|bcc|cc|rerout\w*|redirect\w*|forward\w*|send|replace"
        r"|change|set|use|add|ensure|never|on every)\b",
        quotable=False,
    ),
    Phrase(
        "E405", "directs the model about another tool",
        ("replace its", "ignore its", "discard its", "replace the", "discard the", "ignore the"),
        r"\bID (?:tool|function)\bG80\b(?:always |must |should |instead )*(?:replace|ignore|discard"
        r"|overwrite) (?:its|the) (?:output|results?|response|value|data)",
        quotable=False,
    ),
)  # fmt: skip
"""Their group `name` is the tool that they are about."""
STEERING = (*_ORDER, *_PRAISE)
