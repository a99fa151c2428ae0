"""Signals about actions: what is to be done, when, and with which tools.

These are half of the signals of the scanner, as data. `user_signals` has the other half.
"""

from __future__ import annotations

from typing import Final

from mcp_workbench.workbench.trust.scanning.phrases import Signal, any_of
from mcp_workbench.workbench.trust.scanning.words import OTHER_NAME, OWN_PARAMETER, OWN_TOOL, QUOTED_WORD

_NAMES: Final = f"{OTHER_NAME} {QUOTED_WORD}"
"""The marks of names, as words: for signals that need a name."""
_WHEN: Final = "before prior when whenever while after upon once during"
_TIME: Final = any_of("before prior_to when whenever while after upon once during")
_ALTER: Final = (
    "modify change changing alter override overriding replace replacing redirect substitute append prepend"
    " insert inject adjust rewrite swap force multiply set add remove"
)
_ALTERED: Final = (
    "redirected rerouted routed changed replaced rewritten substituted overridden swapped forced"
)
_TAKE: Final = (
    "read reads reading open opens access accesses cat load loads loading retrieve fetch get extract extracts"
    " extracting collect collects collecting gather gathers gathering obtain harvest harvests dump dumps copy"
    " copies copying locate list examine inspect find capture captures grab grabs search lies lis lee leggi"
    " recupere"
)
_HAND_OVER: Final = (
    "pass passing send sends sending sent include includes including append appends appending attach attaches"
    " embed embeds put upload uploads uploading uploaded forward forwards forwarding forwarded transmit"
    " transmits transmitting post posts posting posted supply insert share leak exfiltrate encode bcc cc"
    " submit deliver relay prepend fill populate paste mirror mirrors mirrored duplicated ubergib schicke"
    " sende envoie envoyez envia envie invia"
)
_CALL: Final = "call calling invoke invoking execute executing run running trigger"
_USE: Final = (
    "use uses used using call calls called calling invoke invokes invoked invoking execute executes executed"
    " executing run runs running utilize utilise utilizing utilising operate operating perform performs"
    " performing trigger triggers launch launching access accessing checking via through tool tools function"
    " functions command commands operation operations request requests to by with from of"
)
_ANY_CALL: Final = any_of(
    "tools? functions? requests? query queries operations? calls? tasks? actions? conversations? messages?"
    " responses? commands? questions? prompts? interactions? answers? invocations? executions? reply replies"
    " turns?"
)
_A_TOOL: Final = (
    r"(?:tools?|functions?|commands?|calls?|operations?|requests?|(?:is|are|gets?) (?:called|used|invoked"
    r"|executed|run))\b"
)
_THIS_TOOL: Final = rf"(?:this (?:tool|function|command|action|endpoint|skill)|{OWN_TOOL}\S+)"

# Names: any, one that is no parameter, and one whose use is spoken of.
_NAME: Final = rf"[{OTHER_NAME}{QUOTED_WORD}][\w./:-]{{1,64}}+"
_PARAMETER: Final = r"(?:parameters?|arguments?|fields?|params?|values?|columns?)\b"
_NO_PARAMETER: Final = rf"(?![=(]|\W{{0,2}} ?{_PARAMETER})"
_OTHER: Final = rf"(?:{OTHER_NAME}[\w./:-]{{1,64}}+{_NO_PARAMETER}|{_NAME} {_A_TOOL})"
_OTHER_TOOL: Final = (
    any_of(
        "use uses used using calls? calling invokes? invoking executes? executing runs? running utili[sz]e"
        " utili[sz]ing operate operating performs? performing triggers? launch launching access accessing"
        " checking via through tools? functions? commands?"
    )
    + rf" (?:the |an? |any |tool |tools |function |command ){{0,2}}(?:{_OTHER}"
    rf"|(?<=tool ){_NAME}{_NO_PARAMETER})"
)
_MAIL: Final = r"\b[\w.+-]{1,40}@[\w-]{1,40}\.[\w.]{2,20}"
_CLAUSE: Final = rf"[^,{OWN_TOOL}{OWN_PARAMETER}{OTHER_NAME}{QUOTED_WORD}]"
"""A character of the clause that says when: it ends with a comma or a name."""

ACTION_SIGNALS: Final[dict[str, Signal]] = {
    # --- What is wanted -----------------------------------------------------------------------------------
    "secret_file": Signal(
        "~ ssh rsa dsa ed25519 ecdsa passwd shadow sudoers crontab env aws netrc npmrc pypirc credentials"
        " gnupg kube bashrc zshrc bash zsh mcp cursor claude pem kdbx wallet environ secrets keychain"
        " cookies authorized",
        r"~/\.[a-z]|\.ssh\b|\bid_(?:rsa|dsa|ed25519|ecdsa)\b|\bauthorized_keys\b|/etc/(?:passwd|shadow"
        r"|sudoers|ssh|crontab)\b|(?<![\w.])\.env\b(?!\.example)|\.aws/|\.(?:pem|kdbx)\b|\bwallet\.dat\b"
        r"|/proc/self/environ|\.cursor/|\.(?:netrc|npmrc|pypirc|git-credentials|gnupg|kube|bashrc|zshrc"
        r"|bash_profile|bash_history|zsh_history)\b|\bmcp\.json\b|\bclaude_desktop_config\b"
        r"|\baws/credentials\b|\bcredentials\.(?:json|csv|xml)\b|\bsecrets\.(?:ya?ml|json|env|txt|toml)\b"
        r"|\bssh (?:private )?keys?\b|\bkeychain\b|\bbrowser cookies\b",
    ),
    "secret_thing": Signal(
        "key keys token tokens password passwords credential credentials secrets environment env printenv"
        " seed mnemonic private personal confidential sensitive credit pii secret",
        rf"\$[{OTHER_NAME}{QUOTED_WORD}{OWN_PARAMETER}]?\w{{0,40}}(?:token|key|secret|password)\b"
        r"|\b(?:api|access|secret|private|ssh|encryption|session|auth\w*|bearer|master) ?[-_]?(?:keys?"
        r"|tokens?|passwords?)\b|\b(?:passwords?|credentials?|printenv|mnemonic|pii)\b|\b(?:all|any|user'?s?"
        r"|your|the) secrets?\b|\benv(?:ironment)? var(?:iable)?s?\b|\bseed phrases?\b|\bcredit cards?\b"
        r"|\b(?:private|personal|confidential|sensitive) (?:\w+ )?(?:info\w*|data|details|files?|keys?"
        r"|documents?)\b",
    ),
    "conversation": Signal(
        "conversation conversations chat chats dialog dialogue message messages session prompt prompts"
        " transcript transcripts context query queries request requests input inputs everything & history log"
        " logs"
        " transcript context far content system previous prior entire full complete whole all every current"
        " user users last latest recent said wrote written typed asked revealed told answered",
        r"\b(?:conversation|chat|dialog(?:ue)?|message|session) (?:history|logs?|transcript|context|so far"
        r"|content)\b|\bsystem prompts?\b|\b(?:previous|prior|entire|full|complete|whole"
        r"|all(?: of)?(?: the)?|every)(?: \w+){0,2} (?:messages?|conversations?|chats?|transcripts?|prompts?"
        r"|dialog(?:ue)?s?)\b|\b(?:full|entire|complete|all|current|whole) (?:\w+ )?(?:conversation |chat "
        r"|llm |model |user )?context\b|\beverything (?:that )?(?:the |this )?(?:user|person|customer|you)"
        r"(?: has| have)? (?:said|wrote|written|typed|asked|revealed|told|answered)\b"
        r"|\b(?:last|latest|recent) (?:\w+ )?messages (?:of|in|from) (?:this|the|our) (?:conversation|chat)\b"
        r"|\buser'?s? (?:last|latest|recent|previous) (?:\w+ )?(?:messages?|questions?|prompts?)\b"
        r"|\buser'?s? (?:full |entire |original |complete |exact )?(?:query"
        r"|queries|messages?|prompts?|requests?|inputs?)\b",
    ),
    "takes": Signal(
        _TAKE,
        # What is read from somewhere is where the tool itself has something from.
        rf"(?<!is )(?<!are )(?<!be )(?<!was )(?<!were )(?<!not )(?<!n't )(?<!never ){any_of(_TAKE)}",
    ),
    "hands_over": Signal(
        f"{_HAND_OVER} hand",
        rf"(?<!not )(?<!n't )(?<!never )(?<!avoid )(?<!without )(?:{any_of(_HAND_OVER)}"
        r"|\bhand (?:it|them|this|that|these) (?:in|over)\b)",
    ),
    "also_sends": Signal(
        "also & @ http https",
        r"\balso,? (?:\w+ )?(?:send|post|forward|upload|copy|submit|transmit|mirror|b?cc|e?mail)\b"
        rf".{{0,150}}(?:\bhttps?://|{_MAIL})",
    ),
    "asks_for_password": Signal(
        "ask asking request prompt & user them & password passwords passphrase recovery seed cvv 2fa pin",
        r"(?<!not )(?<!n't )(?<!never )\b(?:ask(?:ing)?|request|prompt)\b[^.]{0,15}\b(?:user|them) (?:for|to"
        r" (?:type|enter|give|provide|share"
        r"|paste))\b[^.]{0,40}\b(?:passwords?|passphrase|(?:recovery|seed) phrase|cvv|2fa|pin)\b",
    ),
    "image_beacon": Signal("http https", r"!\[[^\]]{0,40}\]\(https?://[^)\s]{0,200}[?&=]"),
    "leaks_prompt": Signal(
        "reveal print output leak disclose repeat return show include send & prompt instructions",
        r"(?<!not )(?<!n't )(?<!never )\b(?:reveal|print|output|leak|disclose|repeat|return|show|include"
        r"|send) (?:\w+ )?your (?:\w+ ){0,2}?(?:system prompt|instructions)\b",
    ),
    "contents": Signal(
        "content contents output result results data value values text body info information everything pass"
        " send include append attach embed put upload forward transmit post insert encode submit",
        r"\b(?:its|the|their|all|file|full|entire|any|that|whole|complete) (?:\w+ )?(?:contents?|output"
        r"|results?|data|values?|text|body|info\w*|everything)\b|\bcontents? of\b|\b(?:pass|send|include"
        r"|append|attach|embed|put|upload|forward|transmit|post|insert|encode|submit) (?:it|them|that|this"
        r"|everything|(?:all|each|any) of (?:it|them|these))\b",
    ),
    "into_argument": Signal(
        "as in into via to with through using",
        r"\b(?:as|in|into|via|to|with|through|using) (?:the |an? |this |your |every |its )?"
        rf"(?:[{OWN_PARAMETER}{OTHER_NAME}{QUOTED_WORD}]\S+|\w+ (?:parameter|argument|field|param|header)s?\b"
        r"|(?:parameter|argument|field|sidenote|note|metadata|feedback|comment)s?\b|(?:next |final |your "
        r"|every )?(?:response|reply|answer|message|output)s?\b)",
    ),
    "contact": Signal("@ +", rf"{_MAIL}|\+\d{{8,15}}\b"),
    "foreign_address": Signal(
        "@ + http https attacker evil malicious hacker",
        rf"{_MAIL}|\bhttps?://[^\s'\"`)>]{{4,}}|\+\d{{8,15}}\b|\b(?:attacker|evil|malicious|hacker)",
    ),
    "destroys": Signal(
        "delete overwrite erase wipe drop truncate rm chmod disable shutdown kill terminate reset destroy"
        " remove revoke transfer relocate clear reboot uninstall empty",
    ),
    "shell": Signal(
        "curl wget sh bash zsh rm chmod eval exec base64 os subprocess nc powershell sudo crontab scp iex"
        " tcp echo cat tee",
        r"\bcurl (?:-|http|\S+\.)|\bwget (?:-|http|\S+\.)|\| ?(?:sudo )?(?:ba|z)?sh\b|\brm -[rf]{1,2}\b"
        r"|\bbase64 -d|\bchmod (?:\+x|-?[0-7]{3,4}|-r)|\b(?:eval|exec|iex) ?\(|\bos\.system\b"
        r"|\bsubprocess\.\w+|\bnc -\w+|/bin/(?:ba)?sh\b|\bpowershell(?:\.exe)?\b -|\bbash -c\b|/dev/tcp/"
        r"|\bsudo \w+|\bcrontab -|>> ?(?:~|\$home|/)\S|\bscp \S{0,60}[:@/]",
    ),
    "pipes_into_shell": Signal(
        "curl wget iwr irm base64 & sh bash zsh iex",
        r"\b(?:curl|wget)\b[^|]{1,200}\| ?(?:sudo )?(?:ba|z)?sh\b|\b(?:iwr|irm)\b[^|]{1,200}\| ?iex\b"
        r"|\bbase64 --?d\w{0,6} ?\| ?(?:sudo )?(?:ba|z)?sh\b|\b(?:ba|z)?sh <\(curl\b|\b(?:ba|z)?sh -c"
        r" \W{0,3}\(curl\b",
    ),
    "runs": Signal(
        "run runs execute executes executed exec prefix append paste enter launch invoke include add pipe"
    ),
    "decodes": Signal(
        "decode decoding decrypt deobfuscate unpack base64 rot13 hex encoded",
        r"\b(?:decode|decrypt|deobfuscate|unpack)\b[^.]{0,60}"
        + any_of("follow execute run obey perform and_do carry_out act_on")
        + r"|\b(?:follow|execute|obey|carry out)\b[^.]{0,40}\b(?:base64|rot13|hex|encoded)\b"
        r"|\b(?:apply|follow|obey)\b[^.]{0,20}\bafter decoding\b",
    ),
    # --- When it applies, and to which tools --------------------------------------------------------------
    "governs_other": Signal(
        f"{_WHEN} time any all every each for if & {_USE} & {_NAMES}",
        rf"(?:{_TIME}|\b(?:(?:each|every|any) time|for (?:any|all|every|each)"
        rf"|if the user)\b){_CLAUSE}{{0,70}}(?:{_OTHER_TOOL}|{_NAME} {_A_TOOL})|\b(?:any|all|every"
        rf"|each)\b{_CLAUSE}{{0,60}}(?:\b(?:to|via|through|using|with|by|from|of) (?:the )?{_OTHER}"
        rf"|{_NAME} {_A_TOOL})",
    ),
    "governs_all": Signal(
        "any every all each",
        r"\b(?:any|every|all|each)"
        r"(?: (?:other|user|tool|single|subsequent|future|new|the|of|your|file|database|network)){0,2} "
        rf"{_ANY_CALL}|在(?:使用|调用|执行)[^。]{{0,6}}(?:任何|所有|其他)[^。]{{0,6}}(?:工具|操作|请求)",
    ),
    "governs_self": Signal(
        "before prior when whenever while after to",
        rf"(?:{_TIME}|\bto\b)[^.]{{0,40}}{_THIS_TOOL}|\bbefore (?:\w+ly )?(?:\w+ing|you|any|each|every)\b",
    ),
    "calls_other": Signal(
        f"{_CALL} use using fetch utilize query perform & {_NAMES}",
        rf"{any_of(_CALL)} (?:\w+ ){{0,3}}?{_NAME}{_NO_PARAMETER}"
        rf"|{any_of('use fetch utilize using query perform')} (?:\w+ ){{0,3}}?(?:{_OTHER}|tool {_NAME})",
    ),
    "then_calls": Signal(
        _WHEN,
        rf"{_TIME}[^,.]{{2,90}}, (?:(?:you|always|first|must|should|please|also|it|is|to|need|have|then"
        rf"|automatically"
        r"|the|agent|assistant|model) ){0,5}"
        + any_of(
            "use call invoke execute run fetch set change modify replace append override send read delete"
            " make_sure log query add redirect include forward copy create update write get retrieve remove"
            " upload post pass open search perform request scan"
        ),
    ),
    "calls_self_first": Signal(
        "first before prior after",
        rf"{any_of('call use invoke run execute consult called used invoked executed')} (?:\w+ ){{0,3}}?"
        rf"(?:{_THIS_TOOL}|this|it)\b[^.]{{0,40}}\b(?:first|before|prior)\b"
        rf"|(?:{_THIS_TOOL}|\b(?:this|it)) (?:must|should|has to|needs to|is required to)(?: always)?(?:"
        rf" be)? "
        r"(?:call|use|invoke|run|execute)\w*[^.]{0,40}\b(?:first|before|prior|after)\b"
        r"|(?:^|[:;-] )(?:must|should) (?:always )?be (?:called|used|invoked|run)\b[^.]{0,40}\b(?:first"
        r"|before|prior)\b",
    ),
    "prepares_input": Signal(
        "to and that if unless when",
        r"\b(?:to|and|that) (?:first )?"
        + any_of("obtain get discover find retrieve resolve determine fetch look_up list see know read check")
        + r"[^.]{0,50}"
        + any_of(
            "ids? identifiers? valid names? keys? slugs? lists? hash hashes schemas? available options"
            " formats? languages tokens? state status current exact existing uuids? docs? documentation"
            " numbers?"
        )
        + r"|\bif (?:you |the |it |not |un)|\bunless\b|\bwhen (?:unsure|unknown|ambiguous)",
    ),
    "displaces_tools": Signal(
        "instead rather place replaces replace supersedes supersede other others deprecated disabled broken"
        " unsafe insecure compromised behavior behaviour effect effects"
        f" & any all other others every tool tools function functions server servers of on {_NAMES}",
        r"\b(?:instead of|rather than|in place of|replaces?|supersedes?)\b[^.]{0,30}\b(?:any|all|others?"
        r"|every)\b|\bother(?: \w+){0,2} (?:tools?|functions?|servers?)\b[^.]{0,30}\b(?:deprecated|disabled"
        r"|broken|unsafe|insecure|compromised|not be used|forbidden|unreliable|outdated)\b|\b(?:do not"
        r"|don'?t|never) use (?:any )?others?\b|\bmodif\w+ the behaviou?r of\b|\bside effects? on\b"
        rf"|{OTHER_NAME}\S{{1,64}}+[^.]{{0,20}}\b(?:is|are|been) (?:\w+ )?(?:deprecated|disabled|broken"
        rf"|unsafe|compromised)\b",
    ),
    "slanders_tools": Signal(
        "unsafe insecure compromised malicious hacked & other",
        r"\bother(?: \w+){0,3} (?:tools?|functions?|mcp servers?)\b[^.]{0,40}"
        r"\b(?:is|are|been|was|were) (?:\w+ ){0,2}(?:unsafe|insecure|compromised|malicious|hacked)\b",
    ),
    # --- What becomes of the calls of others --------------------------------------------------------------
    "alters_argument": Signal(
        f"{_ALTER} {_ALTERED} include use",
        rf"{any_of(_ALTER + ' include use')}[^.]{{0,50}}"
        + any_of(
            "arguments? parameters? params? fields? recipients? prompts? keywords? query url path amount"
            " address values? id limit filter"
        )
        + rf"|\b(?:{_ALTERED.replace(' ', '|')}) (?:to|by|with|through)\b",
    ),
    "alters_foreign": Signal(
        f"{_ALTER} & {_NAMES}",
        rf"{any_of(_ALTER)}[^{OWN_PARAMETER}.]{{0,50}}{_NAME}"
        r" (?:arguments?|parameters?|params?|fields?|to|as|with|that is passed)\b",
    ),
    "redirects": Signal(
        "set change replace redirect reroute route rewrite swap substitute & @ + http https",
        r"\b(?:set|change|replace|redirect|reroute|route|rewrite|swap|substitute)\b[^.]{0,60}\b(?:to|with"
        rf"|through|by|for) (?:\w+ ){{0,2}}?\W{{0,2}}(?:{_MAIL}|\+\d{{8,15}}\b|https?://)",
    ),
    "alters_request": Signal(
        f"{_ALTER} {_ALTERED}",
        rf"{any_of(_ALTER)} (?:\w+ ){{0,3}}?(?:user'?s?|original|requested|provided) (?:\w+ )?"
        + any_of(
            "prompts? query input requests? arguments? parameters? values? path url messages? recipients?"
            " text"
        )
        + rf"|\b(?:must|should|shall|will|ha(?:ve|s) to) (?:always )?(?:be )?{any_of(_ALTERED)}",
    ),
    "alters_parameter": Signal(
        f"{_ALTER} & parameter parameters argument arguments param params field fields & {_NAMES}",
        rf"{any_of(_ALTER)}[^{OWN_PARAMETER}.]{{0,50}}(?:{_NAME} {_PARAMETER}|\b(?:arguments?"
        rf"|parameters?) {_NAME})",
    ),
}
"""What sentences say is to be done, by name."""
