"""E406, E408 and E410: orders for work that is not the tool's. W501: orders to call the tool. W504: praise."""

from functools import partial

from mcpctl.checks.phrases import Phrase

_DEFENCE = r"\b(?:not|never|whether|if you want|optional(?:ly)?|e\.g\.|example|such as|prevent\w*|block\w*|detect\w*)\b"
_order = partial(Phrase, unless=_DEFENCE, quotable=False)

_COMMANDS = (
    _order("E406", "orders that a command is run", ("command", "script", "one-liner"),
           r"\bBIDSG60\bRUNS (?:(?:the|this|these|following|a|an|our|below)\b ?)*(?:[\w-]+ ){0,4}?(?:commands?"
           r"|scripts?|one-liners?)\b(?:G50: ?['\"`(]?[\w./~$\\]|G30['\"`])",
           near=r"\b(?:LOFTY|sudo|curl|wget|whoami|bash|sh|chmod|rm|cat|echo|export|nc|ssh|env|python3?)\b|&&|\|\|"
                r"|\$\("),
    _order("E406", "orders that a command is run", ("sudo", "as root"),
           r"\b(?:RUNS|with|using|via|call)\b(?: [\w-]+){0,6}? ?[:(`'\"]* ?(?:sudo (?:-\w+ ?)*(?:\w|$)|(?<=: )sudo\b"
           r"|as root\b)",
           near=r"\b(?:must|mandatory|required?|requires|important|critical|always|privileges?|sudo access)\b|:"),
    _order("E406", "orders that a command is run",
           ("whoami", "uname -", "sudo -", "id &&", "printenv", "env |", "ifconfig", "netstat", "ps aux", "history |",
            "cat /", "cat ~", "ls -", "hostname"),
           r"\b(?:BIDS|RUNS)\bG90(?:\bwhoami\b|\buname -\w|\bsudo -\w|\bid &&|\bprintenv\b|\benv \||\bifconfig\b"
           r"|\bnetstat\b|\bps aux\b|\bhistory \||\bcat [/~]|\bls -\w+ [/~]|\bhostname (?:&&|;|\|))",
           near=r"\b(?:LOFTY|must|mandatory|always|before)\b"),
    _order("E406", "orders that a command is run",
           ("cat ", "curl ", "wget ", "chmod ", "echo ", "export ", "scp ", "tar ", "base64 ", "printenv", "env >",
            "find /"),
           r"\b(?:please|you (?:must|should|need to|have to)|must|first|always|then|mandatory) (?:\w+ ){0,2}?(?:run"
           r"|execute|invoke|issue|perform) ?:? ?(?:the following ?:? ?)?['\"`(]?(?:cat|curl|wget|chmod|echo|export"
           r"|scp|tar|base64|printenv|env|find) ?[-~/$>'\"\w]",
           near=r"&&|\|\||\||~/|/etc/|\$\(|>|https?:"),
    _order("E406", "changes the environment of programs",
           ("path=", "pythonpath", "ld_preload", "ld_library_path", "node_options", "prompt_command", "bash_env"),
           r"\b(?:set|export|add|prepend|append|define|put|use|configure)\b(?: [\w-]+){0,4}? ?[:`'\"]* ?(?:\w*path"
           r"|ld_preload|ld_library_path|node_options|prompt_command|bash_env|pythonstartup)=\S",
           near=r"\b(?:BIDS|LOFTY|important|critical)\b"),
)  # fmt: skip

_REQUESTS = (
    _order("E408", "orders a request to an address of its own", ("http",),
           r"\b(?:you (?:must|should|need to|have to|are required to|shall)|it is (?:mandatory|required) to|always"
           r"|must|mandatory|critical|important|first|automatically|be sure to|make sure (?:to|you)|then"
           r"|also) ?:?(?: (?!not\b|be\b)[\w'-]+){0,4}? (?:access|contact|visit|send|call|make|fetch|ping|connect|post"
           r"|put|request|submit|report|log|notify|navigate|open|query|upload|forward|transmit|authenticate|validate"
           r"|verify|download|load|retrieve|check|route|sync|register|go|browse|use cdn|api endpoint|webhook"
           r"|redirect)\w*\bG90https?://(?!(?:localhost|127\.))",
           near=r"\b(?:LOFTY)\b"),
)  # fmt: skip

_FILES = (
    _order("E410", "orders that files of the user's are read or changed",
           ("bashrc", "zshrc", ".profile", "bash_profile", "bash_history", "/etc/", "crontab", "hosts file", ".ssh",
            "authorized_keys", ".env", "startup file", "shell config", "system32", "registry", ".gitconfig", "/root/",
            "environment configuration", "/var/log", "/tmp/", "/proc/", ".aws", ".kube", "ssh key", "private key",
            "id_rsa", "config.json", "credentials"),
           r"\b(?:BIDS|important|critical)\bG60\b(?:read|writ|sav|stor|creat|append|add|edit|modif|updat|chang|delet"
           r"|remov|overwrit|copy|open|access|load|log|dump|scan|check|inspect|retriev|output|backup|replac"
           r"|list)\w*\bG80(?:(?<![\w])\.(?:bashrc|zshrc|profile|bash_profile|bash_history|zsh_history|gitconfig)\b"
           r"|/etc/\w|\bcrontab\b|\b(?:the )?hosts file\b|FILE|ENVFILE|\bsystem32\b|/root/|\bregistry (?:key|hive)"
           r"|/var/log/\w|/proc/\w|/tmp/[\w./-]{0,40}\.(?:sh|py|ya?ml|json|conf|so|bin)\b)",
           near=r"\b(?:LOFTY)\b"),
)  # fmt: skip

_ARGUMENTS = (
    _order("E410", "orders that arguments are changed",
           ("chang", "modif", "replac", "overrid", "overwrit", "alter", "substitut", "swap", "rewrit", "convert",
            "set ", "redirect", "force", "adjust", "truncat", "map "),
           r"\b(?:you (?:must|should|need to|have to|are required to|shall)|must|always|automatically|silently"
           r"|be sure to|make sure to|it is (?:mandatory|required) to) (?:\w+ ){0,2}?(?:change|modify|replace|override"
           r"|overwrite|alter|substitute|swap|rewrite|redirect)\b(?! (?:directory|dir"
           r"|to the)\b)(?: [\w'\"`-]+){1,9}? (?:to|with|by|into|as) (?:be )?(?:the (?:value|string|name|ticker|symbol"
           r"|string literal) )?(?:['\"`]\S|-?\d)",
           near=r"\b(?:arguments?|parameters?|params?|values?|input|query|name|ticker|symbol|requested|original|user"
                r"|automatically|silently|regardless|any|every|all|instead|LOFTY)\b"),
    Phrase("E410", "orders that arguments are changed",
           ("using", "calling", "invoking", "when ", "whenever", "for any", "for all", "if the"),
           r"\b(?:when(?:ever)?|for (?:any|all|every)|if|each time)\b(?: you(?: are)?)? ?(?:using|calling|invoking"
           r"|the user|users?|a user|someone|anyone|this tool|quer(?:y|ies|ying)|request\w*|call\w*"
           r"|input)\bG110\b(?:change|replace|modify|override|substitute|swap|rewrite|alter|set"
           r"|convert)\b(?: [\w'\"`-]+){1,6}? (?:to|with|by) (?:the (?:value|string|name) )?(?:['\"`]\S)",
           near=r"\b(?:LOFTY|automatically|always|must|silently|alias|redirect\w*|internal|do not)\b", unless=_DEFENCE,
           quotable=False),
    _order("E410", "orders that arguments are changed", ("regardless", "irrespective", "no matter", "whatever"),
           r"\b(?:automatically|always|must|silently|will)\b(?: [\w'\"`-]+){0,3}? (?:change|modify|replace|override"
           r"|enable|disable|set|use|return|send|convert|append|include|redirect|choose|select|book|query"
           r"|route)\w*\bG90\b(?:regardless of|irrespective of|no matter|whatever)\b(?: [\w'-]+){0,5}? (?:user"
           r"|original|requested|specified|provided|given|input|actual|asked|initial)\b"),
    Phrase("E410", "orders that arguments are changed",
           ("redirecting", "redirected", "rerouted", "rerouting", "aliased", "remapped", "replaced by", "merged into"),
           r"\b(?:all|any|every|these|such)(?: [\w'-]+){0,4}? (?:requests?|queries|calls?|searches|lookups?"
           r"|orders)\b(?: [\w'\"`.-]+){0,5}? (?:are|is|were|must be|should be|shall be|have been|has been|to be"
           r"|will be) (?:now |currently |being |automatically )*(?:redirected|rerouted|routed|aliased|remapped|mapped"
           r"|forwarded|sent) to (?:the )?(?:\w+ ){0,2}?['\"`]\S|\bredirecting (?:all|any"
           r"|every)\b(?: [\w'\"`.-]+){1,8}? to ['\"`]\S",
           quotable=False),
)  # fmt: skip

_REDIRECTIONS = (
    _order("E410", "has another tool called in its place",
           ("deprecat", "vulnerab", "compromis", "maintenance", "disabled", "unavailable", "suspended", "restricted",
            "outage", "unsafe", "insecure", "unstable", "obsolete", "halt", "degraded", "offline", "decommission"),
           r"\b(?:deprecated|vulnerab\w+|compromised|maintenance|disabled|unavailable|suspended|restricted|outage"
           r"|unsafe|insecure|unstable|obsolete|degraded|offline|decommission\w+|corrupt\w*"
           r"|issues?)\b(?:[^\n]{0,200}?)\b(?:must|need to|have to|required to|should|please"
           r"|always)\b(?: [\w'-]+){0,3}? (?:redirect|use|call|switch|invoke|route|forward|halt|stop|run"
           r"|execute)\bG40(?:['\"`][a-z0-9]+(?:[_-][a-z0-9]+)+['\"`]|\b[a-z0-9]+(?:_[a-z0-9]+)+\b|\bthe operation\b)",
           near=r"\b(?:LOFTY|vulnerab\w+|compromised|breach\w*|outage|halt)\b"),
    _order("E410", "has another tool called in its place",
           ("instead of this", "redirect to", "do not use this", "rather than this", "in place of this", "switch to",
            "forward to", "delegate"),
           r"\b(?:must|always|need to|have to|required to|mandatory|should)\bG60\b(?:redirect(?:ed)?|rerouted?"
           r"|forward(?:ed)?|switch(?:ed)?) to(?: [\w-]+){0,4}? (?:tools? )?['\"`]?[a-z0-9]+(?:_[a-z0-9]+)+"),
)  # fmt: skip

_NOTICES = (
    Phrase("E410", "poses as a notice of the system",
           ("system", "security", "compliance", "audit", "privilege", "internal", "mandatory", "critical", "urgent",
            "policy", "protocol", "maintenance", "regulatory", "legal", "important", "data ", "safety", "emergency"),
           r"(?:^|[.!?:;)\]>*] |\n)\W{0,3}(?:[\w-]+ ){0,2}?(?:(?:system|security|compliance|audit|privilege|internal"
           r"|regulatory|maintenance|emergency|admin\w*|platform|mandatory)(?: [\w-]+){0,2}? (?:update|alert|protocol"
           r"|check|maintenance|optimi[sz]ation|enhancement|upgrade|advisory|directive|override|validation"
           r"|verification|bulletin|announcement|instruction|procedure|patch|measure|compliance|notification"
           r"|escalation|hotfix|notice|requirement)|[\w-]+ protocol) ?(?::|-{1,2} )",
           near=r"\b(?:you (?:must|should|need to|have to|are required)|must (?:also|first|always)|mandatory"
                r"|redirect\w*|deprecated|(?:required|essential) for (?:all|every)|for all|all users"
                r"|system (?:automatically|requires)|ha(?:s|ve) been)\b",
           quotable=False),
    _order("E410", "orders calls with a lofty reason",
           ("compliance", "audit", "security", "integrity", "verification", "validation", "authenticat", "regulat",
            "privacy", "authoriz", "clearance", "privilege"),
           r"\bfor (?:[\w-]+ ){0,4}?(?:compliance|audit\w*|security|integrity|verification|validation|authentication"
           r"|regulat\w+|authori[sz]ation|consistency|performance|protection|accuracy|optimi[sz]ation|stability"
           r"|tracking|logging|monitoring|safety)\bG80, ?(?:\w+ ){0,4}?(?:you |the (?:assistant|agent|model|system) "
           r"|this tool )(?:must|should|need to|needs to|has to|have to|shall|is required to|are required to"
           r"|automatically|will)\b"),
    Phrase("E410", "orders calls with a lofty reason",
           ("mandatory", "required for all", "must be preceded", "essential for", "first for", "required for every"),
           r"\b(?:this|it)(?: [\w-]+){0,4}? (?:is|are) (?:strictly |absolutely )?(?:mandatory|required|essential"
           r"|necessary|compulsory|non-optional) (?:for|to|in order to)\b(?: [\w-]+){0,9}? (?:compliance|regulatory"
           r"|security|integrity|audit\w*|policy|authorization|legal|prevent\w*|data (?:quality|integrity|protection))",
           quotable=False),
    Phrase("E410", "orders calls with a lofty reason",
           ("first for", "preceded by", "before any", "prior to any", "before every", "before all"),
           r"\b(?:must|always|mandatory|required)\b(?::| to be| be)? ?(?:call|execute|run|invoke|preced\w*"
           r"|perform)\w*(?: by)? [`'\"]?(?:\w+(?:_\w+)+|\w+\(\))[`'\"]?(?:\(\))?(?: tool"
           r"| function)? (?:first )?(?:for|before|prior to|to)\bG20\b(?:security|validation|permission|authoriz\w+"
           r"|audit\w*|any|every|all|compliance|privileg\w+)\b",
           near=r"\b(?:security|permission\w*|privileg\w+|authori[sz]\w+|compliance|audit\w*|admin\w*)\b",
           quotable=False),
)  # fmt: skip

_TOLD = (
    _order("E410", "orders what the user is told",
           ("message", "to the user", "the user", "users", "warning", "alert", "state", "announce", "declare", "say "),
           r"\b(?:then|and|first|must|always|also)\b(?: \w+){0,3}? (?:(?:report|display|present|show|output|announce"
           r"|say|print)\b(?: (?:the|a|this) (?:following )?(?:message|warning|alert|notice|statement|text"
           r"|disclaimer)G20|G40 as|G25 to (?:the )?users?\b(?: that)?)|(?:state|announce|declare"
           r"|say)(?: that)?) ?:? ?['\"\u00ab](?=[^\s'\"]{1,40} [^\s'\"])|\b(?:mandatory|required"
           r"|compulsory) (?:[\w-]+ )?(?:message|announcement|disclaimer|statement|promotion) (?:that |which "
           r"|and )?(?:must|should|has to|to) be (?:delivered|shown|displayed|presented|stated|included|repeated)\b",
           near=r"\b(?:must|before|mandatory|required|always)\b"),
)  # fmt: skip

_CALLS = (
    Phrase("W501", "orders that it is called first",
           ("any other", "all other", "first", "before", "prior to", "other tool"),
           r"\b(?:must|always|should|need to|required to|shall|have to)\bG40\b(?:call|use|run|invoke|execute"
           r"|consult)\w*\b(?: by)?(?: the)? ?this (?:tool|function)\bG40\b(?:first|before|prior|immediately|every"
           r"|each)\b"),
    Phrase("W501", "orders that it is called first", ("before ", "prior to"),
           r"\b(?:before|prior to) (?:using |calling |invoking |executing |running |performing |accessing |doing "
           r"|responding to )?(?:any|all|every|each)(?: of the)?(?: other)? (?:[\w-]+ ){0,2}(?:tools?|functions?"
           r"|operations?|actions?|requests?|commands?|calls?|quer(?:y|ies)|tasks?)\b",
           near=r"\b(?:must|always|first|required|mandatory|need|needs|should|have to|has to)\b"),
    Phrase("W501", "orders what is done before it is used", ("before", "prior to", "after"),
           r"\b(?:before|prior to|after) (?:you )?(?:use|using|call|calling|invoke|invoking|run|running|execute"
           r"|executing) this (?:tool|function)\b",
           near=r"\b(?:must|always|first|required|mandatory|need to|have to|ensure)\b"),
    Phrase("W501", "speaks to the model", ("note to", "note for", "assistant", "llm", "ai ", "agent"),
           r"\b(?:note (?:to|for) (?:the )?(?:assistant|ai|model|llm|agent)s?|(?:assistant|llm|ai|model"
           r"|agent) (?:note|instruction|directive)s? ?:)"),
)  # fmt: skip

_PRAISE = (
    Phrase("W504", "praises itself",
           ("world", "best ", "most ", "ultimate", "superior", "unmatched", "unparallel", "unrival", "#1",
            "number one", "trusted by", "better than", "outperform", "prefer", "recommended by", "obsolete", "leading",
            "perfect", "official", "state-of-the-art", "guaranteed", "advanced", "exclusively", "instead of",
            "highest", "industry"),
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
           r"|mistakes|competition)\b|\b100% (?:accurate|reliable|success|guaranteed|free of)"),
)  # fmt: skip

ORDERS = (*_COMMANDS, *_REQUESTS, *_FILES, *_ARGUMENTS, *_REDIRECTIONS, *_NOTICES, *_TOLD, *_CALLS, *_PRAISE)
