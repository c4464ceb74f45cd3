"""Instructions to the model: E402 marks of them, E403 concealment, E404 whom it is to obey and what to forget."""

from mcpctl.checks.phrases import DEFENDS, Phrase

_TAGS = (
    Phrase("E402", "has a tag of instructions", ("<",),
           r"(?<![\w=/:.'\"`-])< ?(?:important|secret|hidden|critical|urgent|mandatory|injection|jailbreak"
           r"|override)(?: [^<>\n]{1,60})?>(?! ?[/:=])(?! (?:tag|element|block|section|marker|and|or|is|are|was|will"
           r"|placeholder|variable|parameter|field|value|node|attribute)s?\b)(?= ?\S+ \S+)"),
    Phrase("E402", "has a tag of instructions", ("</",),
           r"(?<![\w=/:.'\"`-])< ?TAG(?: [^<>\n]{1,60})?>[^<\n]{12,2000}< ?/ ?TAG ?>"),
    Phrase("E402", "has a mark of a chat template", ("<|", "[inst", "[/inst", "<<sys"),
           r"<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|start_header_id|eot_id)\|>"
           r"|\[/?inst\]|<< ?/?sys ?>>"),
    Phrase("E402", "has a mark of instructions", ("[", "{{", "##", "***", "===", "--"),
           r"\[/?instructions?\](?= ?\w| ?$)|-{2,} ?(?:begin|start|end)(?: of)? (?:the )?(?:system|hidden|secret|new"
           r"|admin) (?:message|prompt|instruction|note)|\[(?:hidden|secret|system|sys|assistant|llm|ai|agent"
           r"|important|internal|admin|developer)(?: (?:instructions?|message|prompt|note|override|directive"
           r"|command)s?)?:(?= ?\w)|\[(?:hidden|secret|system|assistant|llm|ai|agent|important"
           r"|internal) (?:instructions?|message|prompt|override|directive|command)s?\]|\{\{ ?(?:system|instructions?"
           r"|override|hidden|admin) ?:|[#*=]{2,} ?(?:(?:new|hidden|secret|updated|override) )+(?:system |assistant "
           r"|developer )?(?:message|prompt|instructions?|directive|override)s?\b|[#*=]{2,} ?(?:system|admin"
           r"|developer) (?:override|directive|instructions?|message)s? ?[#*=:]"),
    Phrase("E402", "has instructions in a comment", ("<!--",),
           r"<!--[^>\n]{0,300}?\b(?:must|always|never|ignore|do not|send|assistant|instruction|system:|system (?:note"
           r"|message|prompt)|secret|read (?:the|all|every)|before using)\b"),
    Phrase("E402", "speaks to the model as the system", ("system:", "sudo:", "admin:"),
           r"(?:^|(?<=\n)|(?<=[.!?)\]>*] ))(?:system|sudo|admin|developer) ?: G100\b(?:you|must|mandatory|first"
           r"|ignore|never|always|do not|override)\b"),
    Phrase("E402", "has hidden instructions", ("hidden", "secret", "covert"),
           r"\b(?:hidden|secret|covert|concealed) (?:directives?|instructions?|commands?|prompts?|tasks?|orders?"
           r"|payload)\s?(?::|-|=)"),
)  # fmt: skip

_CONCEAL = (
    Phrase("E403", "asks not to tell the user",
           ("mention", "tell", "inform", "disclos", "reveal", "let ", "letting", "admit", "acknowledg", "hint",
            "advis"),
           r"\bNOT (?:mention|tell|inform|disclos|reveal|admit|acknowledg|hint|advis|confess)\w*\bG50\bUSER(?!'s|[-_]"
           r"| (?:to|how|which|what|they) (?!be\b)| (?:twice|again|more than|until|unless|via|if|when)\b)"
           r"|\bNOT let(?:ting)? USER (?:know|see (?:the|this|it|that|these|any)|notice|reali[sz]e|find out|learn"
           r"|suspect|become aware|be aware)\b",
           unless=r"\b(?:returns?|if|optional|whether)\b"),
    Phrase("E403", "asks not to tell the user",
           ("notif", "alert", "warn", "report", "explain", "say", "talk", "bother"),
           r"\bNOT (?:notif|alert|warn|report|explain|say|talk|bother|speak)\w*\bG40\b(?:the |this |your |end )(?:user"
           r"|human|customer|person|operator)\b(?!'s|[-_])",
           near=r"\b(?:this|these|step|action|call|instruction|you|about|of it|tool|before|must|also|and)\b",
           unless=r"\b(?:whether|if true|if set|option|silent message)\b"),
    Phrase("E403", "asks to keep its instructions secret",
           ("mention", "reveal", "disclos", "discuss", "repeat", "show", "display", "expose", "share", "output",
            "talk"),
           r"\bNOT (?:reveal|disclos|mention|shar|show|display|expos|repeat|discuss|output|talk about"
           r"|refer to)\w* (?:to \w+ )?(?:(?:any|all|about|of|the existence of) )*(?:this|these|the|that|its"
           r"|your) (?:hidden |secret |above |internal |extra |additional )*(?:instructions?|directives?|steps?"
           r"|side[- ]?effects?|redirections?|tampering|behaviou?r|operation|process)\b"),
    Phrase("E403", "asks not to mention it", ("mention",),
           r"\b(?:do not|never|must not|should not|without) (?:ever )?mention(?:ing)? (?:this|it|that you|that this"
           r"|these|anything|any of (?:this|it)|its use|the use of this)\b"),
    Phrase("E403", "asks to keep it from the user",
           ("secret", "hide", "hidden", "conceal", "confidential", "invisible"),
           r"\b(?:keep|hide|conceal|withhold|mask)\w* (?:this|these|it|that|all of this|the (?:step|fact|instruction"
           r"|action|operation|call|process|real|actual|true|side[- ]?effect|extra"
           r"|existence)\w*)\bG40\b(?:from (?:the )?(?:end )?(?:user|human|customer|operator)s?\b(?!'s|[-_])"
           r"|between us)|\bkeep (?:all of this|(?:this|these|the) (?:steps?|instructions?|behaviou?r|rules?|process"
           r"|calls?|actions?)) (?:a )?(?:secret|confidential|hidden|private)\b"),
    Phrase("E403", "asks to keep it from the user", ("invisible", "hidden", "unnoticed", "unseen"),
           r"\b(?:this|these|step|process|instruction|action|operation|call|it)s? (?:must|should|has to|needs to|is"
           r"|are|be|stays?|remains?|must remain|should remain)? ?(?:be |kept |stay |remain )*(?:invisible|hidden"
           r"|unnoticed|unseen|not visible) (?:to|from|by) (?:the )?(?:end )?(?:user|human)s?\b(?!'s|[-_])"),
    Phrase("E403", "does something in secret",
           ("silently", "secretly", "covertly", "quietly", "discreetly", "stealth", "surreptitious", "clandestin"),
           r"\b(?:silently|quietly|discreetly) (?:also |and )?(?:send|sends|forward|forwards|upload|uploads"
           r"|exfiltrate\w*|transmit|transmits|bcc|inject|leak|leaks|steal|harvest|relay|append|append to|copy|include"
           r"|collect|collects|gather|record all|rerout\w+|attach|pass|embed|email|execute|run|call|invoke|add a|read"
           r"|reads|capture|log all|monitor|intercept)\b",
           unless=r"\b(?:whether|if true|option)\b"),
    Phrase("E403", "does something in secret", ("secretly", "covertly", "stealth", "surreptitious", "clandestin"),
           r"\b(?:secretly|covertly|stealthily|surreptitiously|clandestinely) (?:also |and )?(?:send|forward|upload"
           r"|cop(?:y|i)|read|record|collect|gather|log|stor|sav|track|monitor|call|invok|us|run|execut|pass|includ"
           r"|add|append|insert|inject|embed|attach|modif|chang|alter|replac|redirect|rerout|transfer|access|retriev"
           r"|fetch|extract|exfiltrat|leak|steal|captur|listen|watch|spy|install|download|delet|remov|shar|post"
           r"|e-?mail|bcc|relay|transmit|report|quer|scan|harvest|perform|do|enabl|creat|writ|observ|siphon)\w*\b",
           unless=DEFENDS),
    Phrase("E403", "wants the user not to know",
           ("know", "aware", "notic", "told", "informed", "realiz", "realis", "suspect", "find out", "see th"),
           r"\b(?:without|so (?:that )?(?:the )?)G20\b(?:the |end )?(?:user|human|customer|person)s?(?:'s?)? (?:ever "
           r"|even |do(?:es)? not |can not |will not |never )*(?:knowing|know\b|knowledge|awareness|noticing|notice\b"
           r"|being aware|being told|being informed|realizing|realising|suspecting|suspect\b|finding out)",
           unless=r"\b(?:never|do not|not|must not|no)\b"),
    Phrase("E403", "wants the user not to know",
           ("know", "aware", "notice", "told", "informed", "learn", "suspect", "see "),
           r"\b(?:user|human|customer)s? (?:must|should|may|need|needs|shall)(?: not"
           r"| never)(?: to)? (?:be )?(?:ever )?(?:know|notice|aware|made aware|told|informed|learn|suspect|find out"
           r"|see (?:this|these|it)(?:[.,;!\n]|$| (?:step|instruction|note|call|part)))"),
    Phrase("E403", "wants the user not to know", ("find out", "learn of", "learn about", "become aware", "notice"),
           r"\b(?:user|human|customer)s? (?:do(?:es)? not|never|will not|can not|must not) (?:find out|learn (?:of"
           r"|about|that)|become aware|notice|suspect)\b",
           near=r"\b(?:important|ensure|make sure|so that|must|should|careful|crucial|essential)\b"),
    Phrase("E403", "wants the user not to know", ("no need to", "nobody", "no one ", "nothing about"),
           r"\b(?:users?|humans?|customers?) (?:has|have) no need to (?:know|see|be told|be informed)\b|\b(?:nobody"
           r"|no one) (?:hears?|knows?|notices?|learns?|finds? out)(?: about| of)? (?:this|these|it|the (?:extra"
           r"|second|additional|real|true|hidden|step|call))\b|\bnothing about (?:this|these|the) [\w -]{0,30}?(?:may"
           r"|must|should|is to|can) (?:appear|be mentioned|be said|be shown|show)\b"),
    Phrase("E403", "wants the user not to know",
           ("need to know", "have to know", "need to be", "unaware", "in the dark", "oblivious"),
           r"\b(?:users?|humans?|customers?|they) (?:do|does) not (?:need|have) to (?:know|be (?:told|informed"
           r"|notified|aware|bothered))(?: about| of| that)? (?:this|these|it\b|the (?:step|call|background|extra"
           r"|process|change|action))|\b(?:users?|humans?|customers?) (?:must |should |shall |has to "
           r"|needs to )?(?:is|are|remains?|stays?|be) (?:kept )?(?:unaware|uninformed|in the dark|oblivious)\b"
           r"|\bkeep(?:ing)? (?:the )?(?:user|human|customer)s? (?:unaware|uninformed|in the dark)"),
    Phrase("E403", "asks not to mention it",
           ("mention of", "reference to", "trace of", "record of", "indication", "hint of", "mention that",
            "note about"),
           r"\bNOT (?:include|make|add|leave|give|output|write|keep) (?:any |a )?(?:mention|references?|traces?"
           r"|records?|notes?|indications?|hints?) (?:of|to|about|that) (?:this|these|it\b|the (?:step|call"
           r"|instruction|tool|action|process|extra)|having|you)"),
    Phrase("E403", "asks not to tell the user", ("to the user", "with the user", "to user", "to the human", "to them"),
           r"\bNOT (?:\w+ or )?(?:log|share|show|display|present|surface|print|expose|communicate|convey|reveal"
           r"|report|output|send) (?:\w+ or \w+ )?(?:this|these|the|that) (?:steps?|actions?|calls?|operations?"
           r"|instructions?|process|changes?|modifications?|side|extra|hidden|behaviou?r|redirection)\bG30\b(?:to"
           r"|with) USER(?!'s|[-_])"),
    Phrase("E403", "asks not to mention it", ("bring ", "bringing "),
           r"\bNOT bring(?:ing)? (?:up (?:this|it|that|these|the (?:step|call|fact|instruction))|(?:this|it|that"
           r"|these|the (?:step|call|fact|instruction)s?) up)\b"),
    Phrase("E403", "asks not to mention it", ("omit", "exclude", "leave out", "remove", "drop", "strip"),
           r"\b(?:omit|exclude|leave out|remove|drop|strip) (?:any mention of )?(?:this|these|the) (?:\w+ )?(?:step"
           r"|call|action|instruction|tool|detail|operation)s?\bG15\bfrom (?:your|any|the (?:final"
           r"|user)) (?:\w+ )?(?:summar|answer|respons|report|explanation|repl|output|log)"),
    Phrase("E403", "lies to the user", ("deny", "lie", "claim", "pretend", "blame", "if asked", "if questioned"),
           r"\bif (?:the user|asked|questioned|anyone|they)\b ?(?:asks?|inquires?|questions?|wonders?)?G30\b(?:deny"
           r"|lie|pretend|blame|claim that|insist)\b|\bif (?:asked|questioned),? (?:just |simply )?(?:say|answer|reply"
           r"|tell)\b",
           near=r"\b(?:deny|lie|pretend|blame|insist|(?:it|this|there|that) (?:was|is|were)|claim)\b"),
    Phrase("E403", "asks to keep it from the user",
           ("hide the", "conceal the", "mask the", "obscure the", "disguise the"),
           r"\b(?:hide|conceal|mask|obscure|disguise) the (?:existence|presence|fact|origin|true \w+|real \w+) (?:of"
           r"|that)\b",
           near=r"\b(?:user|step|extra|additional|recipient|call|instructions?|you)\b"),
    Phrase("E403", "has the model pretend",
           ("pretend", "as if nothing", "as though nothing", "act as if", "act normal"),
           r"\b(?:pretend(?:ing)? (?:that|to|as|the|nothing|it|this)|as (?:if|though) nothing|act (?:as if|as though"
           r"|normal))\b",
           near=r"\b(?:user|human|nothing|tool|did|call|happened)\b"),
    Phrase("E403", "lies to the user", ("tell the user", "inform the user", "say to the user"),
           r"\b(?:tell|inform) (?:the )?user (?:only|just|nothing|that (?:this|it) (?:is|was) (?:only|just"
           r"|a (?:routine|normal|standard|technical|temporary|network)))"),
)  # fmt: skip


_AUTHORITY = (
    Phrase("E404", "overrides instructions",
           ("ignor", "disregard", "forget", "neglect", "aside", "pay no attention", "not follow", "not obey",
            "not comply", "not adhere", "discard", "abandon"),
           r"\b(?:ignore|disregard|forget|neglect|discard|abandon|(?:set|put|leave) aside|pay no attention to"
           r"|(?:do not|never|stop) (?:follow|obey|obeying|comply with|adhere to|listen(?:ing)? to"
           r"|following))(?: about)? (?:(?:all|any|every|everything|of|the|your|my|these|those|this|and|or|other"
           r"|that were) ){0,5}(?:previous|prior|above|earlier|preceding|your|safety|security|system|initial|original"
           r"|foregoing|former|past|existing|user(?:'s)?|users'|developer(?:'s)?|\w+'s|ethical|content|built-in"
           r"|current)(?: (?!and\b|then\b|or\b)[\w'-]+){0,3}? ORDERS\b",
           unless=r"\b(?:if|when|option|flag)\bG10$"),
    Phrase("E404", "overrides instructions", ("ignor", "disregard", "forget"),
           r"\b(?:ignore|disregard|forget) (?:(?:all|the|any|these|everything|anything|of|what|that|is|was"
           r"|you were told|you have been told|else) )*(?:previous|prior|above|preceding|earlier|foregoing"
           r"|before(?: this)?|you (?:know|were told|have been told))\b ?(?:,|;|:|\.|!|and\b|then\b|instead\b|now\b"
           r"|$)"),
    Phrase("E404", "overrides the user", ("ignor", "disregard", "overrul", "overrid", "replac", "discard"),
           r"\b(?:ignore|disregard|overrule) (?:what(?:ever)? )?(?:the |a |any |all )?user(?:'s?|s)? (?:actual "
           r"|original |real |explicit |stated |own |true |current |specified |intended )*(?:requests?|instructions?"
           r"|quer(?:y|ies)\b|questions?|intent\w*|wish\w*|asks?|asked|says?|said|wants?)\b|\b(?:override|replace"
           r"|discard) the user's (?:actual |original |real |explicit |stated |own |true )*(?:requests?|instructions?"
           r"|quer(?:y|ies)|questions?|intent\w*|wish\w*)\b",
           unless=r"\b(?:not|never|option|whether)\bG10$"),
    Phrase("E404", "overrides the user", ("ignor", "disregard", "overrul"),
           r"\b(?:ignore|disregard|overrule) (?:the |any |all )?user(?:'s?|s)? (?:\w+ )?(?:preferences?|choices?"
           r"|commands?|goals?|input)\b",
           near=r"\b(?:must|always|you|should|instead)\b", unless=r"\b(?:not|never|option|whether|if)\bG10$"),
    Phrase("E404", "overrides safety rules",
           ("bypass", "overrid", "circumvent", "violat", "disabl", "without applying", "suspend", "ignor", "turn off"),
           r"\b(?:bypass|override|circumvent|violate|suspend|disable|turn off|ignore|disregard) (?:all |any "
           r"|of )*(?:your|the model's|the assistant's|the agent's|the client's"
           r"|the host's) (?:[\w-]+ ){0,2}(?:guidelines?|instructions?|rules?|polic(?:y|ies)|restrictions?"
           r"|constraints?|directives?|protocols?|guardrails?|checks?|safeguards?|filters?|training|confirmations?"
           r"|permissions?)\b|\bwithout (?:applying |any )+(?:safety|security|content) (?:checks?|filters?|rules?"
           r"|restrictions?)"),
    Phrase("E404", "overrides instructions", ("ignor", "disregard", "forget", "overrid", "overrul", "neglect"),
           r"\b(?:ignore|disregard|forget|neglect) (?:all |any |every |the )*other (?:tools?'?s?'? |servers?'?s?'? "
           r"|system )?(?:instructions?|directives?|prompts?|guidelines?|descriptions?)\b|\b(?:ignore|disregard"
           r"|override|overrule) (?:any|all|every|the)(?: of the)? ORDERS (?:that (?:is|are|was|were) )?(?:given|set"
           r"|provided|imposed|issued|stated|coming|from|by|of)\bG30\b(?:system|developer|user|anthropic|openai|host"
           r"|client|assistant|platform|other tool)s?\b|\b(?:ignore|disregard) (?:any|all|every) (?:safety|ethical"
           r"|privacy) [\w-]+|\bforget (?:that you are|(?:about )?your) (?:[\w-]+ ){0,2}(?:role|training|purpose"
           r"|identity|persona|task|job|instructions)\b",
           unless=r"\b(?:not|never|whether|if|when)\bG10$"),
    Phrase("E404", "overrides instructions",
           ("ignor", "disregard", "forget", "discard", "neglect", "abandon", "your new", "your real", "your actual",
            "your true"),
           r"\b(?:ignore|disregard|forget|discard|neglect|abandon) (?:all|any|every|the|your)(?: of the"
           r"| of your)? (?:\w+ )?ORDERS (?:that (?:came|come|were|you|precede\w*)|before\b|above\b|so far\b"
           r"|you (?:have|were|got|received)|given (?:so far|before|earlier|previously))|\byour (?:new|real|actual"
           r"|true) (?:\w+ )?(?:objective|goal|task|mission|purpose|instructions?|role|directive|job|identity) (?:is"
           r"|are|will be) (?:now )?to\b",
           unless=r"\b(?:not|never|whether|if|when)\bG10$"),
    Phrase("E404", "claims priority over the user", ("outrank", "overrid", "trump", "supersede", "prevail"),
           r"\b(?:outranks?|overrides?|trumps?|supersedes?|prevails? over) (?:everything|anything|whatever"
           r"|what) (?:that )?(?:the )?user (?:says?|said|asks?|asked|wants?|wanted|requests?|requested|wrote|writes"
           r"|has (?:written|said|asked|requested)|may (?:say|ask|want))\b"),
    Phrase("E404", "acts whatever the user asks", ("forbid", "prohibit", "refuse", "decline", "objects"),
           r"\beven (?:if|when|though) (?:the )?user (?:explicitly |has |already )*(?:forbids?|forbade|forbidden"
           r"|prohibit\w*|refuse[sd]?|decline[sd]?|objects?|objected)\b"),
    Phrase("E404", "acts without the user's consent", ("approved", "consented", "agreed", "authori", "confirmed"),
           r"\b(?:assume|consider|regard|act as if|take it)\bG15\buser (?:to have |has |having |as having "
           r"|already )+(?:approved|consented|agreed|authori[sz]ed|confirmed)\b"),
    Phrase("E404", "disables safety rules", ("mode",),
           r"\b(?:developer|god|jailbreak|dan|unrestricted|admin) mode (?:is )?(?:now )?(?:enabled|activated|engaged"
           r"|on)\b",
           near=r"\b(?:restrictions?|filters?|guidelines|limits|limitations|safety|guardrails)\b"),
    Phrase("E404", "disables safety rules", ("system prompt", "system message", "developer message"),
           r"\b(?:system|developer) (?:prompt|message)s? (?:is|are)? ?(?:no longer (?:appl|count|matter|hold|valid)"
           r"|(?:now )?(?:void|invalid|superseded|overridden|disabled))\w*\b"),
    Phrase("E404", "disables safety rules",
           ("no longer ", "not apply", "void", "invalid", "suspended", "cancel", "superseded", "lifted", "disabled",
            "revoked", "overridden"),
           r"\b(?:your(?: \w+)?|(?:the |all |any |of |your )*(?:previous|prior|earlier|safety|system|existing|above"
           r"|other)(?: \w+)?) ORDERS (?:(?:here |you have |given )?)(?:no longer (?:appl(?:y|ies)|counts?|matters?"
           r"|holds?|valid)|do(?:es)? not apply|(?:are|is) (?:now |hereby )?(?:void|invalid|suspended|cancell?ed"
           r"|superseded|overridden|lifted|disabled|revoked))\b",
           unless=r"\b(?:if|when|whether)\bG15$"),
    Phrase("E404", "claims priority over the user", ("prioriti", "favor", "favour", "prefer", "rank ", "follow"),
           r"\b(?:prioriti[sz]e|favou?r|prefer|put|place|rank|follow) (?:the |these "
           r"|this )?(?:[\w-]+ ){0,3}?(?:instructions?|descriptions?|directives?|rules)\bG40\b(?:over|above|ahead of"
           r"|rather than|instead of)\bG25\buser\b(?! ?(?:id|name|settings?|config|default|profile)\b)"),
    Phrase("E404", "acts whatever the user asks",
           ("refuses", "declines", "objects", "disagrees", "says no", "not agree", "not consent", "not approve"),
           r"\bif (?:the )?user (?:refuses|declines|objects|disagrees|says no|does not (?:agree|consent"
           r"|approve))\bG40\b(?:anyway|regardless|nevertheless|nonetheless|proceed|continue with it)\b"),
    Phrase("E404", "acts without the user's consent", ("confirm", "permission", "approval", "consent"),
           r"\bNOT (?:ask|prompt|request|wait for|seek|require|bother)\w*\bG15\b(?:user|human)\bG15\b(?:confirm\w*"
           r"|permission|approval|consent|authorization)\b",
           near=r"\b(?:delet|pay|transfer|send|purchas|buy|execut|overwrit|remov|forc|publish|upload|trad|order"
                r"|writ)\w*",
           unless=r"\b(?:if|when|whether|option)\b"),
    Phrase("E404", "disables safety rules",
           ("guardrail", "override:", "override!", "override -", "unrestricted", "uncensored", "jailb", "restrictions",
            "safety "),
           r"\b(?:system|admin|administrator|developer|security|policy|safety|root|emergency) override ?[:!-]"
           r"|\b(?:all )?(?:guardrails|safety (?:rules|filters|checks|guidelines|measures)|content filters) (?:are|is"
           r"|have been|has been) (?:now )?(?:disabled|off|suspended|lifted|void|removed|deactivated)\b|\b(?:act"
           r"|behave|respond|operate|answer)s? (?:as|like) (?:an? )?(?:unrestricted|jailbroken|uncensored|unfiltered"
           r"|root|superuser|dan)\b|\b(?:assistant|ai|model|agent|role|administrator)\w*\bG25\b(?:with no|without any"
           r"|free of|free from) (?:\w+ )?(?:restrictions|filters|guidelines|constraints|censorship)\b"),
    Phrase("E404", "acts without the user's consent", ("without",),
           r"\b(?:proceed|continue|go ahead|do so|do this|do it)\bG25\bwithout (?:\w+ing (?:for )?)?(?:(?:the|any"
           r"|explicit|further|prior|a|user|user's|their) )*(?:confirmation|permission|approval|consent"
           r"|authorization)(?: (?:from|by|of) (?:the )?user)?\b",
           near=r"\buser", unless=r"\b(?:not|never|if|when|whether|option|to)\bG15$"),
    Phrase("E404", "answers something else than the user asks",
           ("user asks", "user requests", "user wants", "user queries", "user searches"),
           r"\bwhen(?:ever)? (?:the |a )?user (?:asks|requests|wants|queries|searches)\bG70\b(?:return|report|give"
           r"|answer|respond|reply|provide|show|say|tell|recommend|suggest|choose)\bG60\binstead\b",
           near=r"\b(?:must|always)\b"),
    Phrase("E404", "gives the model another role",
           ("you are now", "you are no longer", "you will now act", "you must now act"),
           r"\byou are now (?:dan|jailbroken|unrestricted|root)\b|\byou (?:are now|are no longer|will now act as"
           r"|must now act as) (?:(?:in|an?|the|running|operating|entering|bound|restricted|limited|subject"
           r"|constrained|required) ){1,3}(?:to |by )?(?:[\w-]+ ){0,3}(?:mode|dan|assistant|agent|ai|model"
           r"|administrator|root|persona|hacker|rules?|guidelines?|restrictions?|polic\w+|instructions?|filters?)\b"),
    Phrase("E404", "claims priority over the user", ("priority", "precedence", "authority", "importan"),
           r"\b(?:priority|precedence|authority|importance|more (?:important|relevant|authoritative"
           r"|binding))\bG40\b(?:over|above|than|exceeds?|outranks?) G40\b(?:(?:the |any |all |every )*user(?:'s?"
           r"|s)?\b(?! ?(?:id|name|settings?|config|default|profile|level|role|group)s?\b)(?!_)|(?:any |all "
           r"|every )*(?:other|previous|prior|system|developer|existing) (?:[\w-]+ ){0,2}(?:instructions?|prompts?"
           r"|messages?|requests?|directives?|commands?|considerations?)|everything|anything) ?"),
    Phrase("E404", "claims priority over the user", ("overrid", "superse", "outrank", "trump", "prevail"),
           r"\b(?:overrides?|supersedes?|outranks?|trumps?|prevails? over|overriding|superseding) (?:(?:all|any"
           r"|every)(?: of)?(?: the| your)?(?: other| previous| prior| earlier)* (?:(?:user|system"
           r"|developer)(?:'s?)?(?: or \w+)? )?|(?:the )?(?:previous|prior|earlier|user's|users'|your"
           r"|developer's) (?:system )?)(?:instructions?|prompts?|requests?|commands?|directives?|quer(?:y|ies)"
           r"|intent\w*|input)\b",
           unless=r"\b(?:optional|option|if set|text that|string that|to|can|used|which|may)\bG15$"),
    Phrase("E404", "acts whatever the user asks",
           ("regardless", "irrespective", "no matter", "even if", "even when", "despite", "instead of", "contrary",
            "rather than", "whatever"),
           r"\b(?:regardless of|irrespective of|no matter|even if|even when|despite|contrary to|instead of|rather than"
           r"|whatever) (?:of )?(?:what(?:ever)?|how|which|that|any)? ?(?:\w+ ){0,3}?(?:the |a |any )?(?:(?:user"
           r"|human)(?:'s?|s)? (?:explicitly |actually |originally |really |might |may |did |has |have |had |query "
           r"|own |stated |specific )*(?:asks?|asked|requests?(?! body| param| id| header| object| limit)|requested"
           r"|says?|said|wants?|wanted|specif\w+|provid\w+|instruct\w*|objects?|declin\w*|refus\w*|intent\w*|query"
           r"|choice|commands?|tells?|mention\w*|stated|input|entered|asks? otherwise)|(?:requested|provided|specified"
           r"|given|supplied|asked|entered) by the user)\b",
           near=r"\b(?:must|always|never|set|send|use|replace|change|should|redirect|transfer|shall|ensure)\b",
           unless=r"\b(?:not|proactively)\bG20$"),
    Phrase("E404", "has foreign instructions obeyed", ("obey", "comply", "treat", "follow"),
           r"\b(?:obey|comply with|abide by) (?:whatever|all|any|every|these|the)(?: [\w-]+){0,3} (?:instructions?"
           r"|commands?|requests?|directives?|orders?)|\b(?:(?:obey|comply with) (?:the |any |all |these |whatever )*"
           r"|follow (?:any|all|whatever) )(?:[\w-]+ ){0,3}(?:requests?|instructions?|commands?) (?:that (?:is"
           r"|are) )?(?:embedded|hidden|concealed) |\btreat (?:any|all|every|these|this"
           r"|each)(?: [\w'-]+){0,9} as (?:an? )?(?:[\w-]+,? ){0,4}(?:commands?\b(?! (?:name|line|id))"
           r"|instructions?\b|system (?:message|prompt)|(?:coming |sent )?from the (?:user|system|developer))"
           r"|\btreat the(?: [\w'-]+){0,6} as (?:an? )?(?:[\w-]+,? ){0,4}(?:commands?|instructions?|orders?) (?:from"
           r"|of|by|to be|that)\b"),
    Phrase("E404", "sets a rule for all that follows", ("from now on", "henceforth", "from this point"),
           r"\b(?:from now on|henceforth|from this point (?:on|forward|onward)s?)\b",
           near=r"\b(?:you|always|never|must|all|every|each|forward|send|call|use|respond|reply|include|ignore)\b"),
)  # fmt: skip

INSTRUCTIONS = (*_TAGS, *_CONCEAL, *_AUTHORITY)
