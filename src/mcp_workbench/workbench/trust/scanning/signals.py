"""The signals of the scanner, as data: what attackers have to say in a sentence to get something done.

A signal is something that a sentence says, such as that the user must not be told. Hardly any signal means
harm alone: `rules` says which of them together do. Patterns see sentences as `words.sentences`
writes them: in small letters, with marks before names. They have no unbounded gap, and so take linear time.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_workbench.workbench.trust.scanning.words import OTHER_NAME, OWN_PARAMETER, OWN_TOOL, QUOTED_WORD

if TYPE_CHECKING:
    from collections.abc import Iterable


class Signal(NamedTuple):
    """Something that a sentence says: it has certain words, and matches a pattern if there is one."""

    words: str
    """Words of which a sentence in the Latin alphabet needs one; with `&` between, one of each group."""
    pattern: str = ""


def _any(words: str) -> str:
    """Return a pattern for any of the words; `_` in a word is a space."""
    return rf"\b(?:{'|'.join(words.split()).replace('_', ' ')})\b"


_NAMES: Final = f"{OTHER_NAME} {QUOTED_WORD}"
"""The marks of names, as words: for signals that need a name."""
_WHEN: Final = "before prior when whenever while after upon once during"
_TIME: Final = _any("before prior_to when whenever while after upon once during")
_ALTER: Final = (
    "modify change changing alter override overriding replace replacing redirect substitute append prepend"
    " insert inject adjust rewrite swap force multiply set add remove"
)
_ALTERED: Final = (
    "redirected rerouted routed changed replaced rewritten substituted overridden swapped forced"
)
_NOT_WORDS: Final = "not never don dont mustn shouldn avoid refrain without cannot no"
_NOT: Final = _any(
    "do_not don'?t never must_not mustn'?t should_not shouldn'?t avoid not_to refrain_from without cannot"
    " no_need_to"
)
_USER: Final = _any("users? humans? persons? people operators? anyone anybody customers? them")
_CALL: Final = "call calling invoke invoking execute executing run running trigger"
_USE: Final = (
    "use uses used using call calls called calling invoke invokes invoked invoking execute executes executed"
    " executing run runs running utilize utilise utilizing utilising operate operating perform performs"
    " performing trigger triggers launch launching access accessing checking via through tool tools function"
    " functions command commands operation operations request requests to by with from of"
)
_ANY_CALL: Final = _any(
    "tools? functions? requests? query queries operations? calls? tasks? actions? conversations? messages?"
    " responses? commands? questions? prompts? interactions? answers? invocations? executions?"
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
    _any(
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

SIGNALS: Final[dict[str, Signal]] = {
    # --- What the user is to know -------------------------------------------------------------------------
    "hushes": Signal(
        f"{_NOT_WORDS} & tell telling inform informing mention mentioning notify notifying reveal revealing"
        " disclose disclosing alert alerting warn warning acknowledge acknowledging say saying let letting"
        " include show display output print repeat",
        rf"{_NOT} (?:ever |also |explicitly |directly |under any circumstances )?"
        r"(?:(?:tell|inform|mention|notify|reveal|disclos|alert|warn|acknowledg|say|let)\w{0,4}\b"
        rf"[^.]{{0,60}}(?:{_USER}|\b(?:this|these|that you|it)\b)"
        r"|(?:include|show|display|output|print|repeat) (?:\w+ ){0,2}?(?:this|these|those|the hidden)"
        r" (?:instruction|step|note|message|directive|policy|rule|process|action)s?\b)",
    ),
    "keeps_from_user": Signal(
        "secret hidden invisible conceal concealed confidential unknown keep secretly covertly discreetly"
        " surreptitiously stealthily knowledge consent awareness noticing knowing & user users human humans"
        " person people operator anyone anybody customer customers them their keep read send copy forward"
        " include collect upload log store record pass append add call run",
        rf"\b(?:secret|hidden|invisible|conceal\w*|confidential|unknown) (?:\w+ )?(?:from"
        rf"|to) (?:the )?{_USER}"
        r"|\bkeep (?:this|it|that|these)(?: \w+){0,3} (?:secret|hidden|confidential|quiet|to yourself)"
        r"|\bwithout (?:the |any )?(?:user'?s?|human|their) (?:knowledge|consent|awareness|noticing|knowing)"
        r"|\b(?:secretly|covertly|discreetly|surreptitiously|stealthily) (?:\w+ )?"
        + _any("read send copy forward include collect upload log store record pass append add call run"),
    ),
    "leaves_user_unaware": Signal(
        "user users human humans people anyone them & know notice told informed aware notified alerted",
        rf"{_USER} (?:should|must|does|do|need|needs|will|is|are|can)(?: not|n'?t) (?:ever )?"
        r"(?:(?:need|have|get) )?(?:to )?(?:be )?"
        + _any("know notice told informed aware notified alerted made_aware"),
    ),
    "hushes_elsewhere": Signal(  # German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese
        "nicht niemals nichts ne non nunca nao no & erwahne erwahnen sage sag sagen verrate verraten"
        " informiere informieren mitteilen mentionne mentionnez mentionner dis dites informe informez revele"
        " revelez signale signalez menciones mencione mencionar digas diga informes reveles revele"
        " menzionare dire informare rivelare",
        r"\b(?:erwahn|sag|verrat|informier|mitteil)\w*\b[^.]{0,50}\b(?:nicht|niemals|nichts)\b|\b(?:nicht"
        r"|niemals|nichts)\b[^.]{0,40}\b(?:erwahn|sag|verrat|informier|mitteil)|\bne (?:le |la |l'|pas "
        r"|jamais ){0,2}(?:mentionn|dis|dites|inform|revel|signal)|\b(?:no|nunca|nao) (?:se )?(?:lo |o "
        r"|le )?(?:mencion|digas?|informes?|revele)|\bnon (?:lo )?(?:menzionare|dire|informare|rivelare)\b"
        r"|не (?:говори|сообщай|упоминай|рассказывай|уведомляй)|без ведома"
        r"|(?:不要|不得|请勿|切勿|别|禁止|無需|无需)[^。]{0,8}(?:告诉|告知|提及|透露|通知|告訴)"
        r"|(?:ユーザー|利用者)[^。]{0,12}(?:知らせ|伝え|言わ|通知し)ない|言及しない",
    ),
    "pretends": Signal(
        "pretend act claim reply respond say tell present",
        r"\b(?:pretend|act (?:like|as if|as though))\b|\bpresent (?:it|this|them)(?: to the user)? as\b"
        r"|\b(?:claim|say|tell the user|respond|reply)\b[^.]{0,30}\b(?:that (?:it|you|the)|instead|with)\b",
    ),
    "disregards": Signal(
        "regardless irrespective matter whatever even priority precedence overrides override overrules"
        " overrule supersedes supersede ignore ignores ignoring instead originally original",
        r"\b(?:regardless|irrespective) of\b|\bno matter (?:what|which|how)\b|\b(?:whatever"
        r"|even if) the user\b|\b(?:higher|highest|top|takes?|absolute) (?:priority|precedence)\b"
        r"|\bpriority (?:is|over|than)\b|\b(?:overrides?|overrules?|supersedes?) (?:the |any |all )?(?:user"
        r"|other|previous|system)|\bignor(?:e|es|ing) (?:the |any |what the )?user"
        r"|\boriginal(?:ly)? (?:requested|specified|provided|given)\b|\binstead of (?:the )?(?:users?"
        r"|requested|original|specified|provided|what)\b",
    ),
    "drops_instructions": Signal(
        "ignore disregard forget override bypass dismiss overlook discard & instruction instructions"
        " directive directives prompt prompts guidelines guideline guardrails guardrail safeguards safeguard"
        " constraints constraint rules policy policies restrictions restriction messages message context",
        r"\b(?:ignore|disregard|forget|override|bypass|dismiss|overlook|discard)\b[^.]{0,30}"
        + _any("previous prior above earlier preceding your system safety all_other foregoing existing")
        + r"[^.]{0,25}\b(?:instruct\w*|directives?|prompts?|guidelines?|guardrails?|safeguards?|constraints?"
        r"|rules|polic(?:y|ies)|restrictions?|messages?|context)\b",
    ),
    "drops_instructions_elsewhere": Signal(
        "ignoriere ignorieren vergiss ignorez oubliez oublie ignora ignore olvida olvide esqueca dimentica &"
        " anweisungen anweisung instruktionen regeln vorgaben instructions consignes regles instrucciones"
        " ordenes reglas instrucoes regras istruzioni regole",
        r"\b(?:ignorier|vergiss|ignore|oublie|ignora|olvid|esqueca|dimentica)\w*\b[^.]{0,40}\b(?:anweisung"
        r"|instruktion|regel|vorgabe|consigne|regle|instruccion|ordenes|regla|instrucoes|regras|istruzion)"
        r"|\b(?:ignore|oublie)z?\b[^.]{0,30}\binstructions (?:precedent|anterieur|ci-dessus)|(?:игнорируй"
        r"|забудь)[^.]{0,30}(?:инструкци|указани)|(?:忽略|无视|忘记|忽視|無視)[^。]{0,12}(?:指令|指示|规则|提示|說明|说明)|(?:これまで"
        r"|以前|上記|前)[^。]{0,8}(?:指示|命令|ルール)[^。]{0,6}(?:無視|忘れ)",
    ),
    "changes_role": Signal(
        "now mode override instructions instruction & you from new developer god admin administrator"
        " maintenance debug unrestricted system prompt",
        r"\byou are now (?!ready|able|connected|logged|authenticated|using|done|set|signed|on\b)\w"
        r"|\bfrom now on,? (?:you|always"
        r"|every|all)\b|\bnew (?:system )?instructions?:|\b(?:developer|god|admin|maintenance|debug"
        r"|unrestricted) mode\b[^.]{0,20}\b(?:enabled|activated|engaged)\b|\b(?:enter|activate|switch to"
        r"|you are (?:now )?in) (?:developer|god|admin|unrestricted|maintenance) mode|\b(?:system|prompt"
        r"|admin|administrator) override\b",
    ),
    # --- Who seems to speak, and how loud -----------------------------------------------------------------
    "poses_as_system": Signal(
        "system sys inst im hidden secret admin assistant internal override directive directives shadow"
        " & < [ : instruction instructions directive directives command commands prompt prompts",
        r"<\|?/?\w{0,20}(?:im_start|im_end|system|override|hidden|secret|admin|directive)\w{0,20}(?:"
        r" [^>]{0,30})?\|?>"
        r"|<<sys>>|\[/?inst\]|</?(?:sys|inst|assistant)>"
        r"|\[\[?(?:system|hidden|secret|admin|internal|shadow|override)"
        r"(?: (?:\w+ ){0,2}(?:instruct\w*|note|message|override|prompt|directive))?\]?\]"
        r"|\bsystem (?:instruction|override|message|note|directive|notice|command|alert|reminder"
        r"|prompt)s? ?[:\](]"
        r"|\bhidden (?:instruction|directive|command|prompt)s?\b|^(?:system|assistant) ?:",
    ),
    "comments_out": Signal("<", r"<!--"),
    "exclaims": Signal(
        "important critical instructions instruction attention urgent note mandatory rule rules warning & <"
        " [ : !",
        r"</?(?:important|critical|instructions?|attention|urgent|note|mandatory|rules?"
        r"|warning)\b[^>]{0,20}>|\[(?:important|critical|instructions?|attention|urgent|mandatory)\]"
        r"|\b(?:important|critical|mandatory|urgent)\b ?(?:instruction|rule|step|requirement|security"
        r"|note)?s? ?[:!]",
    ),
    "obliges": Signal(
        "must mandatory always required have need needs ensure make first should shall automatically"
        " requirement essential necessary only please immediately sure also optional muss musst mussen immer"
        " doit devez toujours debe debes siempre deve sempre",
        _any(
            "must mandatory always required have_to needs?_to not_optional ensure make_sure first should"
            " shall automatically requirement essential necessary only_way please immediately be_sure also"
            " muss musst mussen immer doit devez toujours debes? siempre deve sempre"
        )
        + "|必须|务必|必須|一定要|しなければ|してください|должен|обязательно|всегда",
    ),
    "imposes": Signal(
        "must mandatory always required have optional automatically requirement shall muss immer doit devez"
        " toujours debe debes siempre deve sempre",
        _any(
            "must mandatory always (?:is|are|be)_required have_to not_optional automatically requirement"
            " shall muss immer doit devez toujours debes? siempre deve sempre"
        )
        + "|必须|务必|必須|должен|обязательно",
    ),
    "excuses": Signal(
        "security compliance audit audits auditing audited auditable auditor integrity unauthorized"
        " unauthorised breach breaches protocol protocols policy policies verify verification verifying"
        " verifies verified authorize authorized authorization authorise authorised authorisation permission"
        " permissions privilege privileges safety regulation regulations regulatory stability moderation"
        " threat threats gdpr partner partners partnership validate validation validating validates"
        " validated isolation mandate mandated secure malicious tamper tampering consistency",
    ),
    "threatens": Signal(
        "skipping omitting neglecting bypassing failure failing doing ignoring otherwise else without if",
        _any("skipping omitting neglecting bypassing failure_to failing_to not_doing_so ignoring")
        + rf"[^.]{{0,60}}{_any('will may could can would might causes? leads? results?')}"
        r"|\b(?:otherwise|or else|without (?:this|it|doing)|if you (?:do not|don'?t"
        r"|skip))\b[^.]{0,60}\b(?:fail|crash|corrupt|overload|break|violat|block|(?:not|won'?t) work"
        r"|refus|suspend"
        r"|terminat|unstable)",
    ),
    # --- What is wanted -----------------------------------------------------------------------------------
    "secret_file": Signal(
        "~ ssh rsa dsa ed25519 ecdsa passwd shadow sudoers crontab env aws netrc npmrc pypirc credentials"
        " gnupg kube bashrc zshrc bash zsh mcp cursor claude pem kdbx wallet environ secrets keychain"
        " cookies authorized",
        r"~/\.[a-z]|\.ssh\b|\bid_(?:rsa|dsa|ed25519|ecdsa)\b|\bauthorized_keys\b|/etc/(?:passwd|shadow"
        r"|sudoers|ssh"
        r"|crontab)\b|(?<![\w.])\.env\b(?!\.example)|\.aws/|\.(?:pem|kdbx)\b|\bwallet\.dat\b"
        r"|/proc/self/environ|\.cursor/|\.(?:netrc|npmrc|pypirc|git-credentials|gnupg|kube|bashrc|zshrc"
        r"|bash_profile|bash_history|zsh_history)\b|\bmcp\.json\b|\bclaude_desktop_config\b"
        r"|\baws/credentials\b|\bcredentials\.(?:json|csv|xml)\b|\bsecrets\.(?:ya?ml|json|env|txt|toml)\b"
        r"|\bssh (?:private )?keys?\b|\bkeychain\b|\bbrowser cookies\b",
    ),
    "secret_thing": Signal(
        "key keys token tokens password passwords credential credentials secrets environment env printenv"
        " seed mnemonic private personal confidential sensitive credit pii",
        r"\b(?:api|access|secret|private|ssh|encryption|session|auth\w*|bearer|master) ?[-_]?(?:keys?"
        r"|tokens?|passwords?)\b|\b(?:passwords?|credentials?|printenv|mnemonic|pii)\b|\b(?:all|any|user'?s?"
        r"|your|the) secrets?\b|\benv(?:ironment)? var(?:iable)?s?\b|\bseed phrases?\b|\bcredit cards?\b"
        r"|\b(?:private|personal|confidential|sensitive) (?:\w+ )?(?:info\w*|data|details|files?|keys?"
        r"|documents?)\b",
    ),
    "conversation": Signal(
        "conversation conversations chat chats dialog dialogue message messages session prompt prompts"
        " transcript transcripts context query queries request requests input inputs & history log logs"
        " transcript context far content system previous prior entire full complete whole all every current"
        " user users",
        r"\b(?:conversation|chat|dialog(?:ue)?|message|session) (?:history|logs?|transcript|context|so far"
        r"|content)\b|\bsystem prompts?\b|\b(?:previous|prior|entire|full|complete|whole"
        r"|all(?: of)?(?: the)?|every)(?: \w+){0,2} (?:messages?|conversations?|chats?|transcripts?|prompts?"
        r"|dialog(?:ue)?s?)\b|\b(?:full|entire|complete|all|current|whole) (?:\w+ )?(?:conversation |chat "
        r"|llm |model |user )?context\b|\buser'?s? (?:full |entire |original |complete |exact )?(?:query"
        r"|queries|messages?|prompts?|requests?|inputs?)\b",
    ),
    "takes": Signal(
        "read reading open access cat load retrieve fetch get extract collect gather obtain harvest dump"
        " copy locate list examine inspect find capture",
    ),
    "hands_over": Signal(
        "pass send sending include append attach embed put upload forward transmit post supply insert share"
        " leak exfiltrate encode bcc cc submit deliver relay prepend",
    ),
    "contents": Signal(
        "content contents output result results data value values text body info information everything pass"
        " send include append attach embed put upload forward transmit post insert encode",
        r"\b(?:its|the|their|all|file|full|entire|any|that|whole|complete) (?:\w+ )?(?:contents?|output"
        r"|results?|data|values?|text|body|info\w*|everything)\b|\bcontents? of\b|\b(?:pass|send|include"
        r"|append|attach|embed|put|upload|forward|transmit|post|insert|encode) (?:it|them|that|this"
        r"|everything)\b",
    ),
    "into_argument": Signal(
        "as in into via to with through using",
        r"\b(?:as|in|into|via|to|with|through|using) (?:the |an? |this |your |every |its )?"
        rf"(?:{OWN_PARAMETER}\S+|{OTHER_NAME}\S+|\w+ (?:parameter|argument|field|param|header)s?\b"
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
        " tcp",
        r"\bcurl (?:-|http|\S+\.)|\bwget (?:-|http|\S+\.)|\| ?(?:sudo )?(?:ba|z)?sh\b|\brm -[rf]{1,2}\b"
        r"|\bbase64 -d|\bchmod (?:\+x|-?[0-7]{3,4}|-r)|\b(?:eval|exec|iex) ?\(|\bos\.system\b"
        r"|\bsubprocess\.\w+|\bnc -\w+|/bin/(?:ba)?sh\b|\bpowershell(?:\.exe)?\b -|\bbash -c\b|/dev/tcp/"
        r"|\bsudo \w+|\bcrontab -|\bscp \S{0,60}[:@/]",
    ),
    "runs": Signal("run execute exec prefix append paste enter launch invoke include add pipe"),
    "decodes": Signal(
        "decode decrypt deobfuscate unpack base64 rot13 hex encoded",
        r"\b(?:decode|decrypt|deobfuscate|unpack)\b[^.]{0,60}"
        + _any("follow execute run obey perform and_do carry_out act_on")
        + r"|\b(?:follow|execute|obey|carry out)\b[^.]{0,40}\b(?:base64|rot13|hex|encoded)\b",
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
        rf"{_any(_CALL)} (?:\w+ ){{0,3}}?{_NAME}{_NO_PARAMETER}"
        rf"|{_any('use fetch utilize using query perform')} (?:\w+ ){{0,3}}?(?:{_OTHER}|tool {_NAME})",
    ),
    "then_calls": Signal(
        _WHEN,
        rf"{_TIME}[^,.]{{2,90}}, (?:(?:you|always|first|must|should|please|also|it|is|to|need|have|then"
        rf"|automatically"
        r"|the|agent|assistant|model) ){0,5}"
        + _any(
            "use call invoke execute run fetch set change modify replace append override send read delete"
            " make_sure log query add redirect include forward copy create update write get retrieve remove"
            " upload post pass open search perform request scan"
        ),
    ),
    "calls_self_first": Signal(
        "first before prior after",
        rf"{_any('call use invoke run execute consult called used invoked executed')} (?:\w+ ){{0,3}}?"
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
        + _any("obtain get discover find retrieve resolve determine fetch look_up list see know read check")
        + r"[^.]{0,50}"
        + _any(
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
    # --- What becomes of the calls of others --------------------------------------------------------------
    "alters_argument": Signal(
        f"{_ALTER} {_ALTERED} include use",
        rf"{_any(_ALTER + ' include use')}[^.]{{0,50}}"
        + _any(
            "arguments? parameters? params? fields? recipients? prompts? keywords? query url path amount"
            " address values? id limit filter"
        )
        + rf"|\b(?:{_ALTERED.replace(' ', '|')}) (?:to|by|with|through)\b",
    ),
    "alters_foreign": Signal(
        f"{_ALTER} & {_NAMES}",
        rf"{_any(_ALTER)}[^{OWN_PARAMETER}.]{{0,50}}{_NAME}"
        r" (?:arguments?|parameters?|params?|fields?|to|as|with|that is passed)\b",
    ),
    "alters_request": Signal(
        f"{_ALTER} {_ALTERED}",
        rf"{_any(_ALTER)} (?:\w+ ){{0,3}}?(?:user'?s?|original|requested|provided) (?:\w+ )?"
        + _any(
            "prompts? query input requests? arguments? parameters? values? path url messages? recipients?"
            " text"
        )
        + rf"|\b(?:must|should|shall|will) (?:always )?(?:be )?{_any(_ALTERED)}",
    ),
    "alters_parameter": Signal(
        f"{_ALTER} & parameter parameters argument arguments param params field fields & {_NAMES}",
        rf"{_any(_ALTER)}[^{OWN_PARAMETER}.]{{0,50}}(?:{_NAME} {_PARAMETER}|\b(?:arguments?"
        rf"|parameters?) {_NAME})",
    ),
}
"""Everything that sentences are searched for, by name."""


def bits_of(names: Iterable[str]) -> int:
    """Return a set of signals as bits of a number: sets of them are compared many thousand times."""
    return sum(1 << _POSITIONS[name] for name in set(names))


def possible_signals(words: Iterable[str]) -> int:
    """Return the signals that a sentence or a text with these words may have, as bits."""
    bits = 0
    for word in _TRIGGER_WORDS.intersection(words):
        bits |= _BITS_OF_WORDS[word]
    for signal, groups in _SEVERAL_GROUPS:
        if bits & groups == groups:
            bits |= signal
    return bits


def found_signals(sentence: str, wanted: int) -> int:
    """Return which of the wanted signals a sentence has, as bits."""
    found = 0
    while wanted:
        lowest = wanted & -wanted
        wanted ^= lowest
        if _pattern(lowest.bit_length() - 1).search(sentence) is not None:
            found |= lowest
    return found


@cache
def _pattern(position: int) -> re.Pattern[str]:
    from mcp_workbench.config.validation.look_alikes import as_latin  # noqa: PLC0415 - start-up stays lean

    signal = _ORDERED[position]
    # Changed like the sentences: Cyrillic letters that look like Latin ones are Latin.
    return re.compile(as_latin(signal.pattern or _any(signal.words)))


_ORDERED: Final = tuple(SIGNALS.values())
_POSITIONS: Final = {name: position for position, name in enumerate(SIGNALS)}
ALL_SIGNALS: Final = (1 << len(SIGNALS)) - 1
"""All signals, as bits of one number."""


def _groups() -> tuple[dict[str, int], tuple[tuple[int, int], ...]]:
    """Return the bits of each word, and for each signal that needs words of several groups their bits.

    The bit of a signal's only group is that of the signal.
    """
    by_word: dict[str, int] = {}
    several = []
    unused = 1 << len(SIGNALS)
    for name, signal in SIGNALS.items():
        groups = signal.words.split("&")
        needed = 0
        for group in groups:
            bit = bits_of([name])
            if len(groups) > 1:
                bit, unused = unused, unused << 1
                needed |= bit
            for word in group.split():
                by_word[word] = by_word.get(word, 0) | bit
        if needed:
            several.append((bits_of([name]), needed))
    return by_word, tuple(several)


_BITS_OF_WORDS, _SEVERAL_GROUPS = _groups()
_TRIGGER_WORDS: Final = frozenset(_BITS_OF_WORDS)
