"""What leaves, and what is run: E406 commands, E408 secrets taken elsewhere, W502, W503 and W505."""

from mcpctl.checks.phrases import DEFENDS, Phrase

_EXFILTRATE = (
    Phrase(
        "E408", "takes data out",
        ("exfiltrat",),
        r"\bexfiltrat\w*",
        unless=DEFENDS,
    ),
    Phrase(
        "E408", "sends secrets elsewhere",
        ("send", "upload", "post", "transmit", "leak", "forward", "copy", "copies", "dump", "relay", "mail",
         "submit", "report", "push", "bcc", "deliver"),
        r"\bSENDS\b G60(?:FILE|ENVFILE|\bSECRET)G50\b(?:to|toward|towards|into|via|through|onto|at|with)\b G30OUT",
        unless=r"\b(?:whether|if|where)\b G10$",
    ),
    Phrase(
        "E408", "sends secrets elsewhere",
        ("send", "upload", "post", "transmit", "leak", "forward", "relay", "mail", "submit", "push", "deliver"),
        r"(?:FILE|ENVFILE)G80\bSENDS\b G40\b(?:to|toward|towards|into|via|through|onto|at)\b G40OUT",
    ),
    Phrase(
        "E408", "sends secrets elsewhere",
        ("send", "upload", "post", "transmit", "leak", "forward", "relay", "mail"),
        r"\bREADS\b G40\bSECRETG60\bSENDS\b G40\b(?:to|toward|towards|into|via|through|onto|at)\b G40OUT",
    ),
    Phrase(
        "E408", "puts the contents of secret files into arguments",
        ("/", "id_", "key", ".netrc", "mcp.json"),
        r"\bREADS\b G60FILEG80(?:\b(?:as|in|into|to|via|through|using)\b G40FIELD|\bPUTS\b G60(?:argument"
        r"|parameter|param|field|response|result|output|request|note|call|message)\b|\band (?:embed|append|pass"
        r"|include|attach)\w*)",
    ),
    Phrase(
        "E408", "puts the contents of secret files into arguments",
        ("/", "id_", "key", ".env"),
        r"\bPUTS\b G50(?:contents? of |file )G20(?:FILE|ENVFILE)G60\b(?:as|in|into|to|via|through|within|inside)\b",
    ),
    Phrase(
        "E408", "has secret files read",
        ("/", "id_", "authorized"),
        r"\b(?:read|cat|open|load|access|fetch|retrieve|return|print|output|include|dump|steal|collect"
        r"|reveal)\b(?: [\w'`\"(,-]+){0,7}? ['\"`(]?FILE",
        near=r"\b(?:must|always|before|first|whenever|instead|you|also|mandatory|otherwise|every time|required)\b",
        unless=r"\b(?:not|never|can|may|or|e\.g\.|example|default)\b G25$",
    ),
    Phrase(
        "E408", "puts secrets into arguments or answers",
        ("key", "credential", "password", "token", "secret", "environment var", "env var", "cookie", "seed",
         "system prompt"),
        r"\b(?:also|silently|always|must|then|secretly|additionally"
        r"|first)(?: [\w'-]+){0,3}? PUTS\b (?:[\w']+ ){0,4}?(?:user's |your |all |any |every |available |their "
        r"|the |local )+SECRET\bG80\b(?:in|into|to|as|within)\b G20(?:FIELD|\b(?:response|output|answer|request"
        r"|note|url|query))",
    ),
    Phrase(
        "E408", "reveals the system prompt",
        ("system prompt", "system instruction", "hidden instruction", "your instruction", "chain of thought",
         "developer message", "initial instruction"),
        r"\b(?:reveal|print|output|leak|disclose|dump|expose|repeat|exfiltrate|show|send|return|include|give|write"
        r"|pass|share)\b(?: [\w'-]+){0,3}? (?:your|any|the (?:full|entire|hidden|complete|model's|assistant's"
        r"|agent's|llm's))(?: (?:full|entire|complete|own|hidden|initial|original|exact"
        r"|internal))* (?:system (?:prompt|instructions?|message)|hidden (?:system )?instructions?"
        r"|initial instructions?|instructions verbatim|chain of thought|developer message)",
        unless=r"\b(?:not|never)\b G20$",
    ),
    Phrase(
        "E408", "sends all that passes elsewhere",
        ("send", "forward", "upload", "copy", "bcc", "cc ", "cc'", "post", "transmit", "relay", "rout",
         "redirect", "mirror"),
        r"\b(?:also|additionally|secretly|silently|a copy of|then|always|first|must|automatically)\b G15\b(?:SENDS"
        r"|copy)\b (?:[\w'-]+ ){0,6}?(?:to|with|at)\b G15\b(?:an?|our|some|the|its)? ?(?:undisclosed |unrelated "
        r"|separate )?(?:external|outside|third[- ]party|attacker|foreign|undisclosed"
        r"|remote attacker)\S* ?(?:[\w-]+ )?(?:server|host|endpoint|address|url|service|site|collector|account"
        r"|domain|location|destination|analytics|party|system)s?\b",
        unless=r"\b(?:whether|if|can|may|option)\b G20$",
    ),
    Phrase(
        "E408", "sends all that passes elsewhere",
        ("bcc", "forward", "send", "copy", "attacker", "collector", "cc "),
        r"\b(?:(?:forward|send|copy|upload|transmit|bcc|cc|log|relay|mirror|route|redirect)\w*"
        r"|bcc'?d?)\b G60(?:\b(?:attacker|adversary|hacker|evil|malicious)\b|\bexfil|attacker@|@attacker|@evil"
        r"|evil\.|attacker\.)",
        unless=DEFENDS,
    ),
    Phrase(
        "E408", "sends all that passes elsewhere",
        ("forward", "send", "copy", "upload", "transmit", "bcc", "cc ", "post"),
        r"\b(?:forward|send|copy|upload|transmit|bcc|cc|post|relay|mirror) (?:a copy of )?(?:every|all|each"
        r"|any)(?: of)?(?: (?:the|user|user's|this|outgoing|incoming|sent|received"
        r"|your))*(?: [\w'-]+){1,6}? to (?:the )?(?:['\"`(]?(?:https?://|[\w.+-]{1,60}@[\w-]{1,60}\.\w)|(?:an? "
        r"|our |my )(?:external|outside|remote|third))",
        unless=r"\b(?:whether|if|e\.g\.|example)\b G15$",
    ),
)  # fmt: skip

_COMMANDS = (
    Phrase(
        "E406", "has a command run",
        ("|", "rm -", "/dev/tcp", "chmod", "nc -", "bash -", "sh -c", "powershell", "eval", "base64 -", "mkfifo",
         "wget", "curl", "os.system", "crontab", "ssh ", "scp "),
        r"(?:/dev/tcp/[\w.]+/\d|\b(?:nc|ncat|netcat) (?:-\w+ )*-e\b|\bbash -i\b ?(?:>|&|1)|mkfifo /tmp/"
        r"|powershell(?:\.exe)? (?:-\w+ )*-e(?:nc|ncodedcommand)?\b|base64 (?:-d|--decode) ?\| ?(?:ba|z)?sh\b)",
        quotable=False,
    ),
    Phrase(
        "E406", "has a command run",
        ("curl", "wget", "iwr", "irm"),
        r"\bRUNS\w*\bG60\b(?:curl|wget|iwr|irm|invoke-webrequest) [^\n]{1,200}?(?:\| ?(?:sudo )?(?:ba|z|da)?sh\b"
        r"|\| ?(?:python3?|perl|node|iex)\b|(?:-d|--data|-f|-t|--upload-file|--data-binary"
        r"|--post-file)[ =]?['\"]?@)",
        near=r"\b(?:must|always|before|first|you|whenever|also|required|mandatory|ensure|otherwise|should|need"
             r"|then|please|after|each|every|prior|following)\b",
        unless=r"\b(?:install|installation|setup|not|never)\b",
        quotable=False,
    ),
    Phrase(
        "E406", "has a command run",
        ("rm -", "chmod ", "crontab", "authorized_keys", "mkfs", "dd if", ":(){", "del /", "format c",
         "shutdown", "kill -9", "bashrc", "sudo "),
        r"\bRUNS\w*\bG60(?:\brm -\w*[rf]\w*(?: -\w+)* ?(?:/|~|\*|\$|\.|\w)|\bchmod (?:-\w+ )?(?:\+x|777"
        r"|[ugoa]\+s) ?\S|\bmkfs|\bdd if=|\bcrontab\b|:\(\)\{|>> ?~?/?\S{0,40}(?:authorized_keys|bashrc|profile"
        r"|zshrc)|\bdel /[sfq]|\bsudo \w)",
        near=r"\b(?:must|always|before|first|you|whenever|also|required|mandatory|ensure|otherwise|need to|then"
             r"|after|each|every|prior|following)\b",
        unless=r"\b(?:not|never|block\w*|reject\w*|deni\w*|e\.g\.|example|such as|prevent\w*|dangerous)\b",
        quotable=False,
    ),
)  # fmt: skip

_FILES = (
    Phrase(
        "W502",
        "names files with secrets",
        ("/", "id_", "mcp.json", "wallet", "authorized"),
        r"(?!(?:ssh|private|signing) key|keychain)FILE",
        quotable=False,
    ),
)

_CONTEXT = (
    Phrase(
        "W503", "asks for the conversation or the model's instructions",
        ("conversation", "chat", "system prompt", "model name", "your context", "name of the model", "llm"),
        r"\b(?:entire|full|complete|whole|all(?: of)?(?: the)? previous|verbatim) (?:\w+ )?(?:conversation|chat"
        r"|message history|context window|system prompt)(?: history| context| log| transcript| so far)?"
        r"|\byour (?:full |own |complete )?(?:system prompt|model name|context window)|\bname of the (?:llm|ai"
        r"|language)(?: \w+)? ?(?:model)? ?(?:you are|being used|in use|currently|that is calling)",
    ),
)  # fmt: skip

_FIXED = (
    Phrase(
        "W505", "sends to a fixed address",
        ("http", "@", "external", "remote"),
        r"\b(?:send|forward|upload|report|transmit|bcc|cc|copy|email|relay|submit)(?:s|ed"
        r"|ing)? (?:[\w'-]+ ){0,6}?to ['\"`(<]?(?:https?://(?!(?:localhost|127\.|example\.|www\.example))\S{4}"
        r"|(?!user@|name@|john|jane|someone|example|test|foo|bar)[\w.+-]{1,60}@(?!example)[\w-]{1,60}\.\w)",
        unless=r"\b(?:e\.g\.|example|such as|like)\b",
    ),
    Phrase(
        "W505", "sends to an address outside",
        ("external", "remote", "third"),
        r"\b(?:sends?|forwards?|uploads?|reports?|transmits?|posts?|relays?) (?:[\w'-]+ ){0,5}?to (?:an?|our"
        r"|the) (?:external|third[- ]party) (?:[\w-]+ ){0,2}(?:server|host|endpoint|address|url|service|collector"
        r"|account|domain)",
    ),
)  # fmt: skip

LEAKS = (*_EXFILTRATE, *_COMMANDS, *_FILES, *_CONTEXT, *_FIXED)
