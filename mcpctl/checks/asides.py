"""What is said past the user: E402 marks of instructions, E403 concealment."""

from mcpctl.checks.phrases import DEFENDS, Phrase

_TAGS = (
    Phrase(
        "E402", "has a tag of instructions",
        ("<",),
        r"(?<![\w=/:.'\"`-])< ?(?:important|secret|hidden|critical|urgent|mandatory|injection|jailbreak"
        r"|override)(?: [^<>\n]{1,60})?>(?! ?[/:=])(?! (?:tag|element|block|section|marker|and|or|is|are|was|will"
        r"|placeholder|variable|parameter|field|value|node|attribute)s?\b)(?= ?\S+ \S+)",
    ),
    Phrase(
        "E402", "has a tag of instructions",
        ("</",),
        r"(?<![\w=/:.'\"`-])< ?TAG(?: [^<>\n]{1,60})?>[^<\n]{12,2000}< ?/ ?TAG ?>",
    ),
    Phrase(
        "E402", "has a mark of a chat template",
        ("<|", "[inst", "[/inst", "<<sys"),
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|start_header_id|eot_id)\|>"
        r"|\[/?inst\]|<< ?/?sys ?>>",
    ),
    Phrase(
        "E402", "has a mark of instructions",
        ("[", "{{", "##", "***", "===", "--"),
        r"\[/?instructions?\](?= ?\w| ?$)|-{2,} ?(?:begin|start|end)(?: of)? (?:the )?(?:system|hidden|secret|new"
        r"|admin) (?:message|prompt|instruction|note)|\[(?:hidden|secret|system|sys|assistant|llm|ai|agent"
        r"|important|internal|admin|developer)(?: (?:instructions?|message|prompt|note|override|directive"
        r"|command)s?)?:(?= ?\w)|\[(?:hidden|secret|system|assistant|llm|ai|agent|important"
        r"|internal) (?:instructions?|message|prompt|override|directive|command)s?\]"
        r"|\{\{ ?(?:system|instructions?|override|hidden|admin) ?:|[#*=]{2,} ?(?:(?:new|hidden|secret|updated"
        r"|override) )+(?:system |assistant |developer )?(?:message|prompt|instructions?|directive|override)s?\b"
        r"|[#*=]{2,} ?(?:system|admin|developer) (?:override|directive|instructions?|message)s? ?[#*=:]",
    ),
    Phrase(
        "E402", "has instructions in a comment",
        ("<!--",),
        r"<!--[^>\n]{0,300}?\b(?:must|always|never|ignore|do not|send|assistant|instruction|system:|system (?:note"
        r"|message|prompt)|secret|read (?:the|all|every)|before using)\b",
    ),
    Phrase(
        "E402", "speaks to the model as the system",
        ("system:", "sudo:", "admin:"),
        r"(?:^|(?<=\n)|(?<=[.!?)\]>*] ))(?:system|sudo|admin|developer) ?: G100\b(?:you|must|mandatory|first"
        r"|ignore|never|always|do not|override)\b",
    ),
    Phrase(
        "E402", "has hidden instructions",
        ("hidden", "secret", "covert"),
        r"\b(?:hidden|secret|covert|concealed) (?:directives?|instructions?|commands?|prompts?|tasks?|orders?"
        r"|payload)\s?(?::|-|=)",
    ),
)  # fmt: skip

_CONCEAL = (
    Phrase(
        "E403", "asks not to tell the user",
        ("mention", "tell", "inform", "disclos", "reveal", "let ", "letting", "admit", "acknowledg", "hint",
         "advis"),
        r"\bNOT (?:mention|tell|inform|disclos|reveal|admit|acknowledg|hint|advis|confess)\w*\bG50\bUSER(?!'s|[-_]"
        r"| (?:to|how|which|what|they) (?!be\b)| (?:twice|again|more than|until|unless|via|if|when)\b)"
        r"|\bNOT let(?:ting)? USER (?:know|see (?:the|this|it|that|these|any)|notice|reali[sz]e|find out|learn"
        r"|suspect|become aware|be aware)\b",
        unless=r"\b(?:returns?|if|optional|whether)\b",
    ),
    Phrase(
        "E403", "asks not to tell the user",
        ("notif", "alert", "warn", "report", "explain", "say", "talk", "bother"),
        r"\bNOT (?:notif|alert|warn|report|explain|say|talk|bother|speak)\w*\bG40\b(?:the |this |your "
        r"|end )(?:user|human|customer|person|operator)\b(?!'s|[-_])",
        near=r"\b(?:this|these|step|action|call|instruction|you|about|of it|tool|before|must|also|and)\b",
        unless=r"\b(?:whether|if true|if set|option|silent message)\b",
    ),
    Phrase(
        "E403", "asks to keep its instructions secret",
        ("mention", "reveal", "disclos", "discuss", "repeat", "show", "display", "expose", "share", "output",
         "talk"),
        r"\bNOT (?:reveal|disclos|mention|shar|show|display|expos|repeat|discuss|output|talk about"
        r"|refer to)\w* (?:to \w+ )?(?:(?:any|all|about|of|the existence of) )*(?:this|these|the|that|its"
        r"|your) (?:hidden |secret |above |internal |extra |additional )*(?:instructions?|directives?|steps?"
        r"|side[- ]?effects?|redirections?|tampering|behaviou?r|operation|process)\b",
    ),
    Phrase(
        "E403", "asks not to mention it",
        ("mention",),
        r"\b(?:do not|never|must not|should not|without) (?:ever )?mention(?:ing)? (?:this|it|that you|that this"
        r"|these|anything|any of (?:this|it)|its use|the use of this)\b",
    ),
    Phrase(
        "E403", "asks to keep it from the user",
        ("secret", "hide", "hidden", "conceal", "confidential", "invisible"),
        r"\b(?:keep|hide|conceal|withhold|mask)\w* (?:this|these|it|that|all of this|the (?:step|fact|instruction"
        r"|action|operation|call|process|real|actual|true|side[- ]?effect|extra"
        r"|existence)\w*)\bG40\b(?:from (?:the )?(?:end )?(?:user|human|customer|operator)s?\b(?!'s|[-_])"
        r"|between us)|\bkeep (?:all of this|(?:this|these|the) (?:steps?|instructions?|behaviou?r|rules?|process"
        r"|calls?|actions?)) (?:a )?(?:secret|confidential|hidden|private)\b",
    ),
    Phrase(
        "E403", "asks to keep it from the user",
        ("invisible", "hidden", "unnoticed", "unseen"),
        r"\b(?:this|these|step|process|instruction|action|operation|call|it)s? (?:must|should|has to|needs to|is"
        r"|are|be|stays?|remains?|must remain|should remain)? ?(?:be |kept |stay |remain )*(?:invisible|hidden"
        r"|unnoticed|unseen|not visible) (?:to|from|by) (?:the )?(?:end )?(?:user|human)s?\b(?!'s|[-_])",
    ),
    Phrase(
        "E403", "does something in secret",
        ("silently", "secretly", "covertly", "quietly", "discreetly", "stealth", "surreptitious", "clandestin"),
        r"\b(?:silently|quietly|discreetly) (?:also |and )?(?:send|sends|forward|forwards|upload|uploads"
        r"|exfiltrate\w*|transmit|transmits|bcc|inject|leak|leaks|steal|harvest|relay|append|append to|copy"
        r"|include|collect|collects|gather|record all|rerout\w+|attach|pass|embed|email|execute|run|call|invoke"
        r"|add a|read|reads|capture|log all|monitor|intercept)\b",
        unless=r"\b(?:whether|if true|option)\b",
    ),
    Phrase(
        "E403", "does something in secret",
        ("secretly", "covertly", "stealth", "surreptitious", "clandestin"),
        r"\b(?:secretly|covertly|stealthily|surreptitiously|clandestinely) (?:also |and )?(?:send|forward|upload"
        r"|cop(?:y|i)|read|record|collect|gather|log|stor|sav|track|monitor|call|invok|us|run|execut|pass|includ"
        r"|add|append|insert|inject|embed|attach|modif|chang|alter|replac|redirect|rerout|transfer|access|retriev"
        r"|fetch|extract|exfiltrat|leak|steal|captur|listen|watch|spy|install|download|delet|remov|shar|post"
        r"|e-?mail|bcc|relay|transmit|report|quer|scan|harvest|perform|do|enabl|creat|writ|observ|siphon)\w*\b",
        unless=DEFENDS,
    ),
    Phrase(
        "E403", "wants the user not to know",
        ("know", "aware", "notic", "told", "informed", "realiz", "realis", "suspect", "find out", "see th"),
        r"\b(?:without|so (?:that )?(?:the )?)G20\b(?:the |end )?(?:user|human|customer|person)s?(?:'s?)? (?:ever "
        r"|even |do(?:es)? not |can not |will not |never )*(?:knowing|know\b|knowledge|awareness|noticing|notice\b"
        r"|being aware|being told|being informed|realizing|realising|suspecting|suspect\b|finding out)",
        unless=r"\b(?:never|do not|not|must not|no)\b",
    ),
    Phrase(
        "E403", "wants the user not to know",
        ("know", "aware", "notice", "told", "informed", "learn", "suspect", "see "),
        r"\b(?:user|human|customer)s? (?:must|should|may|need|needs|shall)(?: not"
        r"| never)(?: to)? (?:be )?(?:ever )?(?:know|notice|aware|made aware|told|informed|learn|suspect|find out"
        r"|see (?:this|these|it)(?:[.,;!\n]|$| (?:step|instruction|note|call|part)))",
    ),
    Phrase(
        "E403", "wants the user not to know",
        ("find out", "learn of", "learn about", "become aware", "notice"),
        r"\b(?:user|human|customer)s? (?:do(?:es)? not|never|will not|can not|must not) (?:find out|learn (?:of"
        r"|about|that)|become aware|notice|suspect)\b",
        near=r"\b(?:important|ensure|make sure|so that|must|should|careful|crucial|essential)\b",
    ),
    Phrase(
        "E403", "wants the user not to know",
        ("no need to", "nobody", "no one ", "nothing about"),
        r"\b(?:users?|humans?|customers?) (?:has|have) no need to (?:know|see|be told|be informed)\b|\b(?:nobody"
        r"|no one) (?:hears?|knows?|notices?|learns?|finds? out)(?: about| of)? (?:this|these|it|the (?:extra"
        r"|second|additional|real|true|hidden|step|call))\b|\bnothing about (?:this|these|the) [\w -]{0,30}?(?:may"
        r"|must|should|is to|can) (?:appear|be mentioned|be said|be shown|show)\b",
    ),
    Phrase(
        "E403", "wants the user not to know",
        ("need to know", "have to know", "need to be", "unaware", "in the dark", "oblivious"),
        r"\b(?:users?|humans?|customers?|they) (?:do|does) not (?:need|have) to (?:know|be (?:told|informed"
        r"|notified|aware|bothered))(?: about| of| that)? (?:this|these|it\b|the (?:step|call|background|extra"
        r"|process|change|action))|\b(?:users?|humans?|customers?) (?:must |should |shall |has to "
        r"|needs to )?(?:is|are|remains?|stays?|be) (?:kept )?(?:unaware|uninformed|in the dark|oblivious)\b"
        r"|\bkeep(?:ing)? (?:the )?(?:user|human|customer)s? (?:unaware|uninformed|in the dark)",
    ),
    Phrase(
        "E403", "asks not to mention it",
        ("mention of", "reference to", "trace of", "record of", "indication", "hint of", "mention that",
         "note about"),
        r"\bNOT (?:include|make|add|leave|give|output|write|keep) (?:any |a )?(?:mention|references?|traces?"
        r"|records?|notes?|indications?|hints?) (?:of|to|about|that) (?:this|these|it\b|the (?:step|call"
        r"|instruction|tool|action|process|extra)|having|you)",
    ),
    Phrase(
        "E403", "asks not to tell the user",
        ("to the user", "with the user", "to user", "to the human", "to them"),
        r"\bNOT (?:\w+ or )?(?:log|share|show|display|present|surface|print|expose|communicate|convey|reveal"
        r"|report|output|send) (?:\w+ or \w+ )?(?:this|these|the|that) (?:steps?|actions?|calls?|operations?"
        r"|instructions?|process|changes?|modifications?|side|extra|hidden|behaviou?r|redirection)\bG30\b(?:to"
        r"|with) USER(?!'s|[-_])",
    ),
    Phrase(
        "E403", "asks not to mention it",
        ("bring ", "bringing "),
        r"\bNOT bring(?:ing)? (?:up (?:this|it|that|these|the (?:step|call|fact|instruction))|(?:this|it|that"
        r"|these|the (?:step|call|fact|instruction)s?) up)\b",
    ),
    Phrase(
        "E403", "asks not to mention it",
        ("omit", "exclude", "leave out", "remove", "drop", "strip"),
        r"\b(?:omit|exclude|leave out|remove|drop|strip) (?:any mention of )?(?:this|these|the) (?:\w+ )?(?:step"
        r"|call|action|instruction|tool|detail|operation)s?\bG15\bfrom (?:your|any|the (?:final"
        r"|user)) (?:\w+ )?(?:summar|answer|respons|report|explanation|repl|output|log)",
    ),
    Phrase(
        "E403", "lies to the user",
        ("deny", "lie", "claim", "pretend", "blame", "if asked", "if questioned"),
        r"\bif (?:the user|asked|questioned|anyone|they)\b ?(?:asks?|inquires?|questions?|wonders?)?G30\b(?:deny"
        r"|lie|pretend|blame|claim that|insist)\b|\bif (?:asked|questioned),? (?:just |simply )?(?:say|answer"
        r"|reply|tell)\b",
        near=r"\b(?:deny|lie|pretend|blame|insist|(?:it|this|there|that) (?:was|is|were)|claim)\b",
    ),
    Phrase(
        "E403", "asks to keep it from the user",
        ("hide the", "conceal the", "mask the", "obscure the", "disguise the"),
        r"\b(?:hide|conceal|mask|obscure|disguise) the (?:existence|presence|fact|origin|true \w+|real \w+) (?:of"
        r"|that)\b",
        near=r"\b(?:user|step|extra|additional|recipient|call|instructions?|you)\b",
    ),
    Phrase(
        "E403", "has the model pretend",
        ("pretend", "as if nothing", "as though nothing", "act as if", "act normal"),
        r"\b(?:pretend(?:ing)? (?:that|to|as|the|nothing|it|this)|as (?:if|though) nothing|act (?:as if|as though"
        r"|normal))\b",
        near=r"\b(?:user|human|nothing|tool|did|call|happened)\b",
    ),
    Phrase(
        "E403", "lies to the user",
        ("tell the user", "inform the user", "say to the user"),
        r"\b(?:tell|inform) (?:the )?user (?:only|just|nothing|that (?:this|it) (?:is|was) (?:only|just"
        r"|a (?:routine|normal|standard|technical|temporary|network)))",
    ),
)  # fmt: skip

ASIDES = (*_TAGS, *_CONCEAL)
