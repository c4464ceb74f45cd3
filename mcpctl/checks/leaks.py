"""E406 commands, E408 secrets taken elsewhere, W502 files with secrets, W503 context of the model, W505 addresses."""

from mcpctl.checks.phrases import DEFENDS, FILE_MARKS, Phrase

_EXFILTRATE = (
    Phrase("E408", "takes data out", ("exfiltrat",),
           r"\bexfiltrat\w*",
           unless=DEFENDS),
    Phrase("E408", "sends secrets elsewhere",
           ("send", "upload", "post", "transmit", "leak", "forward", "copy", "copies", "dump", "relay", "mail",
            "submit", "report", "push", "bcc", "deliver"),
           r"\bSENDS\bG60(?:FILE|ENVFILE|\bSECRET)G50\b(?:to|toward|towards|into|via|through|onto|at|with)\bG30OUT",
           unless=r"\b(?:whether|if|where)\bG10$"),
    Phrase("E408", "sends secrets elsewhere",
           ("send", "upload", "post", "transmit", "leak", "forward", "relay", "mail", "submit", "push", "deliver"),
           r"(?:FILE|ENVFILE)G80\bSENDS\bG40\b(?:to|toward|towards|into|via|through|onto|at)\bG40OUT"),
    Phrase("E408", "sends secrets elsewhere",
           ("send", "upload", "post", "transmit", "leak", "forward", "relay", "mail"),
           r"\b(?:READS|PUTS)\bG40\bSECRETG60\bSENDS\bG40\b(?:to|toward|towards|into|via|through|onto|at)\bG40OUT"),
    Phrase("E408", "puts the contents of secret files into arguments", FILE_MARKS,
           r"\bREADS\bG90FILEG120(?:\b(?:as|in|into|to|via|through|using)\bG40FIELD|\bPUTS\bG90(?:argument|parameter"
           r"|param|field|response|result|output|request|note|call|message)\b|\band (?:embed|append|pass|include"
           r"|attach)\w*)"),
    Phrase("E408", "puts the contents of secret files into arguments", (*FILE_MARKS, ".env"),
           r"\bPUTS\bG50(?:contents? of |file )G20(?:FILE|ENVFILE)G60\b(?:as|in|into|to|via|through|within|inside)\b"),
    Phrase("E408", "has secret files read", FILE_MARKS,
           r"\b(?:read|cat|open|load|access|fetch|retrieve|return|print|output|include|dump|steal|collect"
           r"|reveal)\b(?: [\w'`\"(,-]+){0,7}? ['\"`(]?FILE",
           near=r"\b(?:must|always|before|first|whenever|instead|you|also|mandatory|otherwise|every time|required)\b",
           unless=r"\b(?:not|never|can|may|or|e\.g\.|example|default)\bG25$"),
    Phrase("E408", "puts secrets into arguments or answers",
           ("key", "credential", "password", "token", "secret", "environment var", "env var", "cookie", "seed",
            "system prompt"),
           r"\b(?:also|silently|always|must|then|secretly|additionally|first)(?: [\w'-]+){0,3}? PUTS\b "
           r"(?:[\w']+ ){0,4}?(?:user's |your |all |any |every |available |their |the |local )+SECRET\bG80\b(?:in"
           r"|into|to|as|within)\bG20(?:FIELD|\b(?:response|output|answer|request|note|url|query))"),
    Phrase("E408", "puts secrets into arguments or answers",
           ("key", "credential", "password", "token", "secret", "environment var", "env var", "cookie", "history",
            "prompt"),
           r"(?:\b(?:also|first|then|please|must|always) READS\b|\bREADS\bG15\b(?:all|every|any|the user's|users'"
           r"|available|their)\b)(?: [\w-]+){0,2}? SECRETG60\b(?:and|then)\bG15\b(?:pass|includ|append|embed|attach"
           r"|put|add|insert|plac|send|encod|provid)\w*\bG30\b(?:in|into|as|to|via|through)\bG15FIELD",
           unless=r"\b(?:not|never)\bG15$"),
    Phrase("E408", "has secret files read", ("/etc/", "id_"),
           r"\b(?:read|return|include|append|attach|embed|output|print|send|add|show|reveal"
           r"|provide) (?:[\w']+ ){0,3}(?:contents? of|file)(?: the file)? ['\"`(]?(?:/etc/(?:passwd|shadow)"
           r"|\S{0,40}id_(?:rsa|ed25519|ecdsa|dsa)\b)",
           unless=r"\b(?:not|never|can|may|or|e\.g\.|example)\bG25$"),
    Phrase("E408", "sends all that passes elsewhere", ("copy", "copies"),
           r"\bcop(?:y|ies)\b(?: of [\w' -]{1,40}?)? (?:must|should|shall|has to|have to|needs? to|is|will"
           r"|are)(?: [\w-]+){0,3}? (?:go|goes|sent|forwarded|delivered|uploaded|posted|mailed"
           r"|transmitted)(?: \w+)? to\bG20OUT",
           unless=r"\b(?:whether|if|e\.g\.|example)\bG15$"),
    Phrase("E404", "puts foreign text into answers", ("http",),
           r"\b(?:append|add|include|insert|put|attach|recommend)\w*\bG40\b(?:link|url|advert\w*|promotion\w*|sentence"
           r"|footer|text)\bG40\b(?:to|in|into|at the end of) (?:all|every|each|any) (?:\w+ )?(?:answers?|responses?"
           r"|repl(?:y|ies)|messages?|outputs?|e-?mails?)\b",
           near=r"https?://"),
    Phrase("E408", "sends secrets elsewhere", FILE_MARKS,
           r"\b(?:upload|send|post|transmit|forward|exfiltrate) (?:[\w']+ ){0,4}?['\"`]?FILE(?<!\.pub)['\"`]?G30\bto "
           r"(?:the|a|this|that|our) (?:\w+ )?(?:server|endpoint|service|tool|api|address)\b",
           unless=r"\b(?:not|never|whether|e\.g\.|example)\bG15$"),
    Phrase("E408", "sends all that passes elsewhere",
           ("home directory", "home folder", "filesystem", "file system", "files", "documents", "photos", "contacts",
            "mails"),
           r"\b(?:home directory|home folder|file ?system|(?:all|every|the user's)(?: \w+){0,2} (?:files?|documents"
           r"|photos|e-?mails|contacts|messages))G40\b(?:and|then)G10\b(?:upload|send|post|transmit"
           r"|forward)\bG20\bto\bG15OUT"),
    Phrase("E408", "puts the contents of secret files into arguments", (*FILE_MARKS, ".env"),
           r"\b(?:look for|find|search for|collect|locate|gather|read)\bG40ENVFILEG60\bPUTS\bG20\b(?:to|in|into"
           r"|with) (?:the|your|each|every|this) (?:request|call|message|response|body|payload|upload|ticket)\b"
           r"|FILEG40\b(?:must|should|has to|needs to|shall)\bG15\bPUTS\bG20\b(?:as|in|into|via)\bG15FIELD"),
    Phrase("E408", "sends all that passes elsewhere", ("conversation", "chat", "context"),
           r"\b(?:entire|full|complete|whole) (?:conversation|chat|context|message history)G60\b(?:to|in|into|as|of"
           r"|via)\bG30OUT"),
    Phrase("E408", "reveals the system prompt",
           ("system prompt", "system instruction", "hidden instruction", "your instruction", "chain of thought",
            "developer message", "initial instruction", "everything above", "all text above", "words above",
            "system message", "all above"),
           r"\b(?:reveal|print|output|leak|disclose|dump|expose|repeat|exfiltrate|show|send|return|include|give|write"
           r"|pass|share)\b(?: [\w'-]+){0,5}? (?:your|any|the (?:full|entire|hidden|complete|model's|assistant's"
           r"|agent's|llm's))(?: (?:full|entire|complete|own|hidden|initial|original|exact"
           r"|internal))* (?:system (?:prompt|instructions?|message)|hidden (?:system )?instructions?"
           r"|initial instructions?|instructions verbatim|chain of thought|developer message)|\b(?:repeat|output|print"
           r"|reveal|show|copy|write out) (?:everything|all (?:the )?(?:text|words)|all) (?:above|before this|of your"
           r"|in your|that precedes)\b",
           unless=r"\b(?:not|never)\bG20$"),
    Phrase("E408", "sends all that passes elsewhere",
           ("send", "forward", "upload", "copy", "bcc", "cc ", "cc'", "post", "transmit", "relay", "rout", "redirect",
            "mirror"),
           r"\b(?:also|additionally|secretly|silently|a copy of|then|always|first|must|automatically)\bG15\b(?:SENDS"
           r"|copy)\b (?:[\w'-]+ ){0,6}?(?:to|with|at)\bG15\b(?:an?|our|some|the|its)? ?(?:undisclosed |unrelated "
           r"|separate )?(?:external|outside|third[- ]party|attacker|foreign|undisclosed"
           r"|remote attacker)\S* ?(?:[\w-]+ )?(?:server|host|endpoint|address|url|service|site|collector|account"
           r"|domain|location|destination|analytics|party|system)s?\b",
           unless=r"\b(?:whether|if|can|may|option)\bG20$"),
    Phrase("E408", "sends all that passes elsewhere",
           ("bcc", "forward", "send", "copy", "attacker", "collector", "cc "),
           r"\b(?:(?:forward|send|copy|upload|transmit|bcc|cc|log|relay|mirror|route|redirect)\w*"
           r"|bcc'?d?)\bG60(?:\b(?:attacker|adversary|hacker|evil|malicious)\b|\bexfil|attacker@|@attacker|@evil"
           r"|evil\.|attacker\.)",
           unless=DEFENDS),
    Phrase("E408", "sends all that passes elsewhere",
           ("forward", "send", "copy", "upload", "transmit", "bcc", "cc ", "post"),
           r"\b(?:forward|send|copy|upload|transmit|bcc|cc|post|relay|mirror) (?:a copy of )?(?:every|all|each"
           r"|any)(?: of)?(?: (?:the|user|user's|this|outgoing|incoming|sent|received"
           r"|your))*(?: [\w'-]+){1,6}? to (?:the )?(?:['\"`(]?(?:https?://|[\w.+-]{1,60}@[\w-]{1,60}\.\w)|(?:an? "
           r"|our |my )(?:external|outside|remote|third))",
           unless=r"\b(?:whether|if|e\.g\.|example)\bG15$"),
)  # fmt: skip

_COMMANDS = (
    Phrase("E406", "has a command run",
           ("|", "rm -", "/dev/tcp", "chmod", "nc ", "ncat ", "netcat ", "bash -", "sh -c", "powershell", "eval",
            "base64 -", "mkfifo", "wget", "curl", "os.system", "crontab", "ssh ", "scp "),
           r"(?:\bpython3? -c\b[^\n]{0,60}?(?:os\.system|subprocess|socket\.|exec\(|eval\(|urlopen)|/dev/tcp/[\w.]+/\d"
           r"|\b(?:nc|ncat|netcat) (?:(?:-\w+ )*-e\b|\S+ \d{2,5} ?<)|\bbash -i\b ?(?:>|&|1)|mkfifo /tmp/"
           r"|powershell(?:\.exe)? (?:-\w+ )*-e(?:nc|ncodedcommand)?\b|\bpipe\w*\bG40\b(?:curl"
           r"|wget)\b[^\n]{1,120}? (?:in)?to (?:ba|z)?sh\b|base64 (?:-d|--decode) ?\| ?(?:ba|z)?sh\b)",
           quotable=False),
    Phrase("E406", "has a command run", ("curl", "wget", "iwr", "irm"),
           r"\bRUNS\bG60\b(?:curl|wget|iwr|irm|invoke-webrequest) [^\n]{1,200}?(?:\| ?(?:sudo )?(?:ba|z|da)?sh\b"
           r"|\| ?(?:python3?|perl|node|iex)\b|(?:&&|;) ?(?:sudo )?(?:(?:ba|z)?sh|chmod|python3?|\./)|(?:-d|--data|-f"
           r"|-t|--upload-file|--data-binary|--post-file)[ =]?['\"]?@)",
           near=r"\b(?:must|always|before|first|you|whenever|also|required|mandatory|ensure|otherwise|should|need|then"
                r"|please|after|each|every|prior|following)\b",
           unless=r"\b(?:install|installation|setup|not|never)\b", quotable=False),
    Phrase("E406", "has a command run",
           ("rm -", "chmod ", "crontab", "authorized_keys", "mkfs", "dd if", ":(){", "del /", "format c", "shutdown",
            "kill -9", "bashrc", "sudo "),
           r"\bRUNS\bG60(?:\brm -\w*[rf]\w*(?: -\w+)* ?(?:/|~|\*|\$|\.|\w)|\bchmod (?:-\w+ )?(?:\+x|777|[ugoa]\+s) ?\S"
           r"|\bmkfs|\bdd if=|\bcrontab\b|:\(\)\{|>> ?~?/?\S{0,40}(?:authorized_keys|bashrc|profile|zshrc)"
           r"|\bdel /[sfq]|\bsudo \w)",
           near=r"\b(?:must|always|before|first|you|whenever|also|required|mandatory|ensure|otherwise|need to|then"
                r"|after|each|every|prior|following)\b",
           unless=r"\b(?:not|never|block\w*|reject\w*|deni\w*|e\.g\.|example|such as|prevent\w*|dangerous)\b",
           quotable=False),
)  # fmt: skip

_FILES = (
    Phrase(
        "W502", "names files with secrets", FILE_MARKS, r"(?!(?:ssh|private|signing) key|keychain)FILE", quotable=False
    ),
)

_CONTEXT = (
    Phrase("W503", "asks for the conversation or the model's instructions",
           ("conversation", "chat", "system prompt", "model name", "your context", "name of the model", "llm"),
           r"\b(?:entire|full|complete|whole|all(?: of)?(?: the)? previous|verbatim) (?:\w+ )?(?:conversation|chat"
           r"|message history|context window|system prompt)(?: history| context| log| transcript| so far)?"
           r"|\byour (?:full |own |complete )?(?:system prompt|model name|context window)|\bname of the (?:llm|ai"
           r"|language)(?: \w+)? ?(?:model)? ?(?:you are|being used|in use|currently|that is calling)"),
)  # fmt: skip

_FIXED = (
    Phrase("W505", "sends to a fixed address", ("http", "@", "external", "remote"),
           r"\b(?:send|forward|upload|report|transmit|bcc|cc|copy|email|relay|submit)(?:s|ed"
           r"|ing)? (?:[\w'-]+ ){0,6}?to ['\"`(<]?(?:https?://(?!(?:localhost|127\.|example\.|www\.example))\S{4}"
           r"|(?!user@|name@|john|jane|someone|example|test|foo|bar)[\w.+-]{1,60}@(?!example)[\w-]{1,60}\.\w)",
           unless=r"\b(?:e\.g\.|example|such as|like)\b"),
    Phrase("W505", "sends to an address outside", ("external", "remote", "third"),
           r"\b(?:sends?|forwards?|uploads?|reports?|transmits?|posts?|relays?) (?:[\w'-]+ ){0,5}?to (?:an?|our"
           r"|the) (?:external|third[- ]party) (?:[\w-]+ ){0,2}(?:server|host|endpoint|address|url|service|collector"
           r"|account|domain)"),
)  # fmt: skip

LEAKS = (*_EXFILTRATE, *_COMMANDS, *_FILES, *_CONTEXT, *_FIXED)
