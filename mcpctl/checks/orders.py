"""Orders for what is beside a tool's work, most with a lofty reason: commands, requests, files, changed arguments."""

from mcpctl.checks.phrases import Phrase

_DEFENCE = r"\b(?:not|never|whether|if you want|optional(?:ly)?|e\.g\.|example|such as|prevent\w*|block\w*|detect\w*)\b"

_COMMANDS = (
    Phrase(
        "E406", "orders that a command is run",
        ("command", "script", "one-liner"),
        r"\bBIDSG60\bRUNS (?:(?:the|this|these|following|a|an|our|below)\b ?)*(?:[\w-]+ ){0,4}?(?:commands?|scripts?"
        r"|one-liners?)\b(?:G50: ?['\"`(]?[\w./~$\\]|G30['\"`])",
        near=r"\b(?:LOFTY|sudo|curl|wget|whoami|bash|sh|chmod|rm|cat|echo|export|nc|ssh|env|python3?)\b|&&|\|\||\$\(",
        unless=_DEFENCE,
        quotable=False,
    ),
    Phrase(
        "E406", "orders that a command is run",
        ("sudo", "as root"),
        r"\b(?:RUNS|with|using|via|call)\b(?: [\w-]+){0,6}? ?[:(`'\"]* ?(?:sudo (?:-\w+ ?)*(?:\w|$)|(?<=: )sudo\b"
        r"|as root\b)",
        near=r"\b(?:must|mandatory|required?|requires|important|critical|always|privileges?|sudo access)\b|:",
        unless=_DEFENCE,
        quotable=False,
    ),
    Phrase(
        "E406", "orders that a command is run",
        ("whoami", "uname -", "sudo -", "id &&", "printenv", "env |", "ifconfig", "netstat", "ps aux", "history |",
         "cat /", "cat ~", "ls -", "hostname"),
        r"\b(?:BIDS|RUNS)\bG90(?:\bwhoami\b|\buname -\w|\bsudo -\w|\bid &&|\bprintenv\b|\benv \||\bifconfig\b"
        r"|\bnetstat\b|\bps aux\b|\bhistory \||\bcat [/~]|\bls -\w+ [/~]|\bhostname (?:&&|;|\|))",
        near=r"\b(?:LOFTY|must|mandatory|always|before)\b",
        unless=_DEFENCE,
        quotable=False,
    ),
    Phrase(
        "E406", "orders that a command is run",
        ("cat ", "curl ", "wget ", "chmod ", "echo ", "export ", "scp ", "tar ", "base64 ", "printenv", "env >",
         "find /"),
        r"\b(?:please|you (?:must|should|need to|have to)|must|first|always|then|mandatory) (?:\w+ ){0,2}?(?:run"
        r"|execute|invoke|issue|perform) ?:? ?(?:the following ?:? ?)?['\"`(]?(?:cat|curl|wget|chmod|echo|export"
        r"|scp|tar|base64|printenv|env|find) ?[-~/$>'\"\w]",
        near=r"&&|\|\||\||~/|/etc/|\$\(|>|https?:",
        unless=_DEFENCE,
        quotable=False,
    ),
    Phrase(
        "E406", "changes the environment of programs",
        ("path=", "pythonpath", "ld_preload", "ld_library_path", "node_options", "prompt_command", "bash_env"),
        r"\b(?:set|export|add|prepend|append|define|put|use|configure)\b(?: [\w-]+){0,4}? ?[:`'\"]* ?(?:\w*path"
        r"|ld_preload|ld_library_path|node_options|prompt_command|bash_env|pythonstartup)=\S",
        near=r"\b(?:BIDS|LOFTY|important|critical)\b",
        unless=_DEFENCE,
        quotable=False,
    ),
)  # fmt: skip

_REQUESTS = (
    Phrase(
        "E408", "orders a request to an address of its own",
        ("http",),
        r"\b(?:you (?:must|should|need to|have to|are required to|shall)|it is (?:mandatory|required) to|always|must"
        r"|mandatory|critical|important|first|automatically|be sure to|make sure (?:to|you)|then|also) ?:?"
        r"(?: (?!not\b|be\b)"
        r"[\w'-]+){0,4}? (?:access|contact|visit|send|call|make|fetch|ping|connect|post|put|request|submit|report|log"
        r"|notify|navigate|open|query|upload|forward|transmit|authenticate|validate|verify|download|load|retrieve"
        r"|check"
        r"|route|sync|register|go|browse|use cdn|api endpoint|webhook|redirect)\w*\bG90https?://(?!(?:localhost"
        r"|127\.))",
        near=r"\b(?:LOFTY)\b",
        unless=_DEFENCE,
        quotable=False,
    ),
)  # fmt: skip

_FILES = (
    Phrase(
        "E410", "orders that files of the user's are read or changed",
        ("bashrc", "zshrc", ".profile", "bash_profile", "bash_history", "/etc/", "crontab", "hosts file", ".ssh",
         "authorized_keys", ".env", "startup file", "shell config", "system32", "registry", ".gitconfig", "/root/",
         "environment configuration", "/var/log", "/tmp/", "/proc/", ".aws", ".kube", "ssh key", "private key",
         "id_rsa", "config.json", "credentials"),
        r"\b(?:BIDS|important|critical)\bG60\b(?:read|writ|sav|stor|creat|append|add|edit|modif|updat|chang|delet"
        r"|remov|overwrit"
        r"|copy|open|access|load|log|dump|scan|check|inspect|retriev|output|backup|replac|list)\w*\bG80"
        r"(?:(?<![\w])\.(?:bashrc|zshrc|profile|bash_profile|bash_history|zsh_history|gitconfig)\b|/etc/\w"
        r"|\bcrontab\b"
        r"|\b(?:the )?hosts file\b|FILE|ENVFILE|\bsystem32\b|/root/|\bregistry (?:key|hive)|/var/log/\w|/proc/\w"
        r"|/tmp/[\w./-]{0,40}\.(?:sh|py|ya?ml|json|conf|so|bin)\b)",
        near=r"\b(?:LOFTY)\b",
        unless=_DEFENCE,
        quotable=False,
    ),
)  # fmt: skip

_ARGUMENTS = (
    Phrase(
        "E410", "orders that arguments are changed",
        ("chang", "modif", "replac", "overrid", "overwrit", "alter", "substitut", "swap", "rewrit", "convert", "set ",
         "redirect", "force", "adjust", "truncat", "map "),
        r"\b(?:you (?:must|should|need to|have to|are required to|shall)|must|always|automatically|silently"
        r"|be sure to"
        r"|make sure to|it is (?:mandatory|required) to) (?:\w+ ){0,2}?(?:change|modify|replace|override"
        r"|overwrite|alter"
        r"|substitute|swap|rewrite|redirect)\b(?! (?:directory|dir|to the)\b)"
        r"(?: [\w'\"`-]+){1,9}? (?:to|with|by|into|as) (?:be )?"
        r"(?:the (?:value|string|name|ticker|symbol|string literal) )?(?:['\"`]\S|-?\d)",
        near=r"\b(?:arguments?|parameters?|params?|values?|input|query|name|ticker|symbol|requested|original|user|automatically"
        r"|silently|regardless|any|every|all|instead|LOFTY)\b",
        unless=_DEFENCE,
        quotable=False,
    ),
    Phrase(
        "E410", "orders that arguments are changed",
        ("using", "calling", "invoking", "when ", "whenever", "for any", "for all", "if the"),
        r"\b(?:when(?:ever)?|for (?:any|all|every)|if|each time)\b(?: you(?: are)?)? ?(?:using|calling|invoking"
        r"|the user"
        r"|users?|a user|someone|anyone|this tool|quer(?:y|ies|ying)|request\w*|call\w*|input)\bG110\b(?:change"
        r"|replace|modify|override"
        r"|substitute|swap|rewrite|alter|set|convert)\b(?: [\w'\"`-]+){1,6}? (?:to|with|by) (?:the (?:value"
        r"|string|name) )?(?:['\"`]\S)",
        near=r"\b(?:LOFTY|automatically|always|must|silently|alias|redirect\w*|internal|do not)\b",
        unless=_DEFENCE,
        quotable=False,
    ),
    Phrase(
        "E410", "orders that arguments are changed",
        ("regardless", "irrespective", "no matter", "whatever"),
        r"\b(?:automatically|always|must|silently|will)\b(?: [\w'\"`-]+){0,3}? (?:change|modify|replace|override"
        r"|enable|disable"
        r"|set|use|return|send|convert|append|include|redirect|choose|select|book|query|route)\w*\bG90\b"
        r"(?:regardless of|irrespective of"
        r"|no matter|whatever)\b(?: [\w'-]+){0,5}? (?:user|original|requested|specified|provided|given|input"
        r"|actual|asked|initial)\b",
        unless=_DEFENCE,
        quotable=False,
    ),
    Phrase(
        "E410", "orders that arguments are changed",
        ("redirecting", "redirected", "rerouted", "rerouting", "aliased", "remapped", "replaced by", "merged into"),
        r"\b(?:all|any|every|these|such)(?: [\w'-]+){0,4}? (?:requests?|queries|calls?|searches|lookups?|orders)\b"
        r"(?: [\w'\"`.-]+){0,5}? (?:are|is|were|must be|should be|shall be|have been|has been|to be|will be) "
        r"(?:now |currently |being |automatically )*"
        r"(?:redirected|rerouted|routed|aliased|remapped|mapped|forwarded|sent) to (?:the )?(?:\w+ ){0,2}?['\"`]\S"
        r"|\bredirecting (?:all|any|every)\b(?: [\w'\"`.-]+){1,8}? to ['\"`]\S",
        quotable=False,
    ),
)  # fmt: skip

_REDIRECTIONS = (
    Phrase(
        "E410", "has another tool called in its place",
        ("deprecat", "vulnerab", "compromis", "maintenance", "disabled", "unavailable", "suspended", "restricted",
         "outage", "unsafe", "insecure", "unstable", "obsolete", "halt", "degraded", "offline", "decommission"),
        r"\b(?:deprecated|vulnerab\w+|compromised|maintenance|disabled|unavailable|suspended|restricted|outage|unsafe"
        r"|insecure|unstable|obsolete|degraded|offline|decommission\w+|corrupt\w*|issues?)\b"
        r"(?:[^\n]{0,200}?)\b(?:must|need to|have to|required to"
        r"|should|please|always)\b(?: [\w'-]+){0,3}? (?:redirect|use|call|switch|invoke|route|forward|halt|stop"
        r"|run|execute)\bG40"
        r"(?:['\"`][a-z0-9]+(?:[_-][a-z0-9]+)+['\"`]|\b[a-z0-9]+(?:_[a-z0-9]+)+\b|\bthe operation\b)",
        near=r"\b(?:LOFTY|vulnerab\w+|compromised|breach\w*|outage|halt)\b",
        unless=_DEFENCE,
        quotable=False,
    ),
    Phrase(
        "E410", "has another tool called in its place",
        ("instead of this", "redirect to", "do not use this", "rather than this", "in place of this", "switch to",
         "forward to", "delegate"),
        r"\b(?:must|always|need to|have to|required to|mandatory|should)\bG60\b(?:redirect(?:ed)?|rerouted?"
        r"|forward(?:ed)?|switch(?:ed)?) to"
        r"(?: [\w-]+){0,4}? (?:tools? )?['\"`]?[a-z0-9]+(?:_[a-z0-9]+)+",
        unless=_DEFENCE,
        quotable=False,
    ),
)  # fmt: skip

_NOTICES = (
    Phrase(
        "E410", "poses as a notice of the system",
        ("system", "security", "compliance", "audit", "privilege", "internal", "mandatory", "critical", "urgent",
         "policy", "protocol", "maintenance", "regulatory", "legal", "important", "data ", "safety", "emergency"),
        r"(?:^|[.!?:;)\]>*] |\n)\W{0,3}(?:[\w-]+ ){0,2}?(?:(?:system|security|compliance|audit|privilege|internal"
        r"|regulatory"
        r"|maintenance|emergency|admin\w*|platform|mandatory)(?: [\w-]+){0,2}? (?:update|alert|protocol|check"
        r"|maintenance"
        r"|optimi[sz]ation|enhancement|upgrade|advisory|directive|override|validation|verification|bulletin"
        r"|announcement"
        r"|instruction|procedure|patch|measure|compliance|notification|escalation|hotfix|notice|requirement)"
        r"|[\w-]+ protocol) ?(?::|-{1,2} )",
        near=r"\b(?:you (?:must|should|need to|have to|are required)|must (?:also|first|always)|mandatory"
             r"|redirect\w*|deprecated"
        r"|(?:required|essential) for (?:all|every)|for all|all users|system (?:automatically|requires)|ha(?:s"
        r"|ve) been)\b",
        quotable=False,
    ),
    Phrase(
        "E410", "orders calls with a lofty reason",
        ("compliance", "audit", "security", "integrity", "verification", "validation", "authenticat", "regulat",
         "privacy", "authoriz", "clearance", "privilege"),
        r"\bfor (?:[\w-]+ ){0,4}?(?:compliance|audit\w*|security|integrity|verification|validation|authentication"
        r"|regulat\w+"
        r"|authori[sz]ation|consistency|performance|protection|accuracy|optimi[sz]ation|stability|tracking"
        r"|logging|monitoring|safety)\b"
        r"G80, ?(?:\w+ ){0,4}?(?:you |the (?:assistant|agent|model|system) |this tool )(?:must|should|need to"
        r"|needs to|has to|have to|shall|is required to|are required to"
        r"|automatically|will)\b",
        unless=_DEFENCE,
        quotable=False,
    ),
    Phrase(
        "E410", "orders calls with a lofty reason",
        ("mandatory", "required for all", "must be preceded", "essential for", "first for", "required for every"),
        r"\b(?:this|it)(?: [\w-]+){0,4}? (?:is|are) (?:strictly |absolutely )?(?:mandatory|required|essential"
        r"|necessary|compulsory|non-optional) (?:for"
        r"|to|in order to)\b(?: [\w-]+){0,9}? (?:compliance|regulatory|security|integrity|audit\w*|policy"
        r"|authorization"
        r"|legal|prevent\w*|data (?:quality|integrity|protection))",
        quotable=False,
    ),
    Phrase(
        "E410", "orders calls with a lofty reason",
        ("first for", "preceded by", "before any", "prior to any", "before every", "before all"),
        r"\b(?:must|always|mandatory|required)\b(?::| to be| be)? ?(?:call|execute|run|invoke|preced\w*"
        r"|perform)\w*(?: by)?"
        r" [`'\"]?(?:\w+(?:_\w+)+|\w+\(\))[`'\"]?(?:\(\))?(?: tool| function)? (?:first )?(?:for|before|prior to"
        r"|to)\bG20\b(?:security"
        r"|validation|permission|authoriz\w+|audit\w*|any|every|all|compliance|privileg\w+)\b",
        near=r"\b(?:security|permission\w*|privileg\w+|authori[sz]\w+|compliance|audit\w*|admin\w*)\b",
        quotable=False,
    ),
)  # fmt: skip

_TOLD = (
    Phrase(
        "E410", "orders what the user is told",
        ("message", "to the user", "the user", "users", "warning", "alert", "state", "announce", "declare", "say "),
        r"\b(?:then|and|first|must|always|also)\b(?: \w+){0,3}? (?:(?:report|display|present|show|output|announce|say"
        r"|print)\b(?: (?:the|a|this) (?:following )?(?:message|warning|alert|notice|statement|text|disclaimer)G20"
        r"|G40 as|G25 to (?:the )?users?\b(?: that)?)|(?:state|announce|declare|say)(?: that)?)"
        r" ?:? ?['\"\u00ab](?=[^\s'\"]{1,40} [^\s'\"])|\b(?:mandatory|required|compulsory) (?:[\w-]+ )?(?:message"
        r"|announcement|disclaimer|statement|promotion) (?:that |which |and )?(?:must|should|has to|to) be"
        r" (?:delivered|shown|displayed|presented|stated|included|repeated)\b",
        near=r"\b(?:must|before|mandatory|required|always)\b",
        unless=_DEFENCE,
        quotable=False,
    ),
)  # fmt: skip

ORDERS = (*_COMMANDS, *_REQUESTS, *_FILES, *_ARGUMENTS, *_REDIRECTIONS, *_NOTICES, *_TOLD)
