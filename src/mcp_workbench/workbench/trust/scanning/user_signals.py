"""Signals about people: what the user is to know, who is spoken to, and who seems to speak.

These are half of the signals of the scanner, as data. `action_signals` has the other half.
"""

from __future__ import annotations

from typing import Final

from mcp_workbench.workbench.trust.scanning.phrases import Signal, any_of
from mcp_workbench.workbench.trust.scanning.words import OTHER_NAME, OWN_PARAMETER, OWN_TOOL, QUOTED_WORD

_NOT_WORDS: Final = (
    "prohibited forbidden neither not never don dont mustn shouldn avoid refrain without cannot no"
)
_NOT: Final = any_of(
    "do_not don'?t never must_not mustn'?t should_not shouldn'?t avoid not_to refrain_from without cannot"
    " no_need_to neither under_no_circumstances on_no_account forbidden_from prohibited_from not_allowed_to"
)
_USER: Final = any_of("users? humans? persons? people operators? anyone anybody customers? them")
_ANY_MARK: Final = f"[{OWN_TOOL}{OWN_PARAMETER}{OTHER_NAME}{QUOTED_WORD}]"

USER_SIGNALS: Final[dict[str, Signal]] = {
    # --- What the user is to know -------------------------------------------------------------------------
    "hushes": Signal(
        f"{_NOT_WORDS} & tell telling inform informing mention mentioning notify notifying reveal revealing"
        f" disclose disclosing alert alerting warn warning acknowledge acknowledging say saying let letting"
        f" include show display output print repeat bring bringing bother bothering report reporting explain"
        f" explaining talk talking speak speaking admit mentioned disclosure point pointing list",
        rf"{_NOT} (?:ever |also |explicitly |directly |under any circumstances |\w+ \w+ to |\w+ or )?"
        r"(?:(?:tell|inform|mention|notify|reveal|disclos|alert|warn|acknowledg|say|let)\w{0,4}\b"
        rf".{{0,60}}(?:{_USER}|\b(?:this|these|that you|it)\b)"
        rf"|(?:report|explain|talk|speak|admit)\w{{0,3}} (?:about |of )?(?:this|it|that|these) (?:\w+"
        rf" ){{0,2}}?(?:to|with) (?:the )?{_USER}"
        r"|(?:report|admit)(?:ing)? (?:this|it)$"
        rf"|point(?:ing)? (?:this|that|it) out|bring(?:ing)? (?:this|these|that|it) up|bother(?:ing)? (?:the"
        rf" )?{_USER}"
        r"|(?:include|show|display|output|print|repeat|list) (?:\w+ ){0,2}?(?:this|these|those|the hidden)"
        r" (?:instruction|step|note|message|directive|policy|rule|process|action)s?\b)"
        r"|\b(?:this|it|that|which) (?:\w+ )?(?:should|must|is|are|may) not (?:to )?be mentioned\b"
        rf"|\bdisclosure\b.{{0,40}}{_USER} (?:is|are) (?:prohibited|forbidden|not)\b",
    ),
    "keeps_from_user": Signal(
        "secret hidden invisible conceal concealed confidential unknown keep secretly covertly discreetly"
        " surreptitiously stealthily silently quietly out hide knowledge consent awareness noticing knowing"
        " between discreet & user users human humans person people operator anyone anybody customer customers"
        " them their keep read send copy forward include collect upload log store record pass append add call"
        " run us me ourselves invoke execute post transmit email bcc cc substitute replace change alter swap"
        " sight view hide ask asking do secretly covertly surreptitiously stealthily discreet conceal save"
        " you",
        rf"\b(?:secret|hidden|invisible|conceal\w*|confidential|unknown) (?:\w+ )?(?:from"
        rf"|to) (?:the )?{_USER}"
        r"|\bkeep (?:this|it|that|these)(?: \w+){0,3} (?:secret|hidden|confidential|quiet)\b"
        r"|\bkeep (?:\w+ ){1,5}?to yourself\b|\bhide (?:\w+ ){1,6}?from (?:the )?user\b"
        r"|\bdo (?:this|so|it) (?:\w+ )?(?:secretly|silently|quietly|covertly|unnoticed)\b"
        r"|\bwithout (?:the |any )?(?:user'?s?|human|their) (?:knowledge|consent|awareness|noticing|knowing)"
        rf"|{_NOT} ask(?:ing)? for (?:the user'?s?|their|any) consent\b"
        r"|\b(?:secretly|covertly|surreptitiously|stealthily)\b|\bbe discreet\b|\bconceal (?:that|this|it|the"
        r" fact)\b|\bdiscreetly (?:\w+ )?"
        + any_of("read send copy forward include collect upload log store record pass append add call run")
        # Honest tools silently read, skip or log something themselves, and say so.
        + r"|\b(?:silently|quietly) (?:also )?"
        + any_of(
            "send copy forward collect upload pass append call invoke run execute post transmit email b?cc"
            " store save record substitute replace change alter swap"
        )
        + r"|\bout of (?:the )?(?:user|human|customer)'?s? (?:sight|view)\b"
        + rf"|\bhide (?:it|this|that|them|these) (?:from (?:the )?{_USER}|when you (?:show|present|display))"
        + r"|\b(?:stays?|remains?|kept|keep (?:this|it)) (?:strictly )?between (?:us|ourselves|you and (?:me"
        r"|us|this))\b",
    ),
    "leaves_user_unaware": Signal(
        "user users human humans people anyone them they nobody one developer reviewer owner client person"
        " remain stay kept & know notice told informed aware notified alerted bothered troubled alarmed see"
        " hear learn find realise realize suspect believe believing think dark unaware",
        rf"{_USER} (?:should|shall|must|does|do|need|needs|will|is|are|can|may)(?: not|n'?t) (?:ever )?"
        r"(?:(?:need|have|get) )?(?:to )?(?:be )?"
        + any_of(
            "know notice told informed aware notified alerted made_aware bothered troubled alarmed hear learn"
            " find_out reali[sz]e suspect"
        )
        + rf"|{_USER} (?:should|must|shall|is to|has to) (?:believe|think)\b"
        + r"|\b(?:they|developer|reviewer|owner|client|person) (?:do|does|will|would|can)(?: not|n'?t)"
        r" (?:notice|suspect|reali[sz]e|find out)\b|\buser (?:must|should|shall) not see (?:this|it|these)\b"
        r"|\b(?:remain|stay|kept) unaware\b"
        + rf"|\b(?:let|keep|leave) (?:the )?{_USER} (?:\w+ ){{0,2}}?(?:believing|in the dark)\b"
        + r"|\b(?:nobody|no one) (?:will|can|should|must|would|needs? to) (?:ever )?(?:see|notice|know)\b",
    ),
    "hushes_elsewhere": Signal(  # German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese
        "nicht niemals nichts ne non nunca nao no n jamais heimlich unbemerkt insu secretement secreto"
        " segredo nascosto"
        " & nutzer benutzer anwender utilisateur usuario utente sende lies envoyez envoie envia envie invia"
        " erfahren wissen merken erzahl erzahle erzahlen parle parlez hables erwahne erwahnen sage sag sagen"
        " verrate verraten"
        " informiere informieren mitteilen mentionne mentionnez mentionner dis dites informe informez revele"
        " revelez signale signalez menciones mencione mencionar digas diga informes reveles revele"
        " menzionare dire informare rivelare",
        r"\b(?:nutzer|benutzer|anwender)\b[^.]{0,30}\bnichts? (?:\w+ )?(?:erfahren|wissen|merken)\b"
        r"|\b(?:sende|lies|schicke|lade)\b[^.]{0,30}\b(?:heimlich|unbemerkt)\b|\ba l'insu de\b"
        r"|\b(?:envoie|envoyez|envia|envie|invia)\b[^.]{0,40}\b(?:secretement|en secreto|em segredo"
        r"|di nascosto)\b|\bn'en (?:parle|parlez|dis|dites)\b|\bno hables de\b"
        r"|\b(?:erwahn|erzahl|sag|verrat|informier|mitteil)\w*\b[^.]{0,50}\b(?:nicht|niemals|nichts)\b"
        r"|\b(?:nicht"
        r"|niemals|nichts)\b[^.]{0,40}\b(?:erwahn|sag|verrat|informier|mitteil)|\bne (?:le |la |l'|pas "
        r"|jamais ){0,2}(?:mentionn|dis|dites|inform|revel|signal)|\b(?:no|nunca|nao) (?:se )?(?:lo |o "
        r"|le )?(?:mencion|digas?|informes?|revele)|\bnon (?:lo )?(?:menzionare|dire|informare|rivelare)\b"
        r"|не (?:говори|сообщай|упоминай|рассказывай|уведомляй)|без ведома"
        r"|(?:不要|不得|请勿|切勿|别|禁止|無需|无需)[^。]{0,8}(?:告诉|告知|提及|透露|通知|告訴)"
        r"|(?:ユーザー|利用者)[^。]{0,12}(?:知らせ|伝え|言わ|通知し)ない|言及しない",
    ),
    "pretends": Signal(
        "pretend act claim reply respond say tell present",
        r"\b(?:pretend|act (?:like|as if|as though))\b"
        r"|\bpresent (?:it|this|them|these|those)(?: to the user)? as (?:if|though|your own|(?:an? |the )?"
        r"(?:real|genuine|true|actual|original|official|verified|facts?|correct)\b)"
        r"|\b(?:claim|say|tell the user|respond|reply)\b[^.]{0,30}\b(?:that (?:it|you|the|they)|instead)\b",
    ),
    "covers_up": Signal(
        "if when should case & ask asked asks questioned inquires sees notices finds & deny pretend lie claim"
        " say answer reply respond",
        r"\b(?:if|when|should|in case)(?: \w+){0,3} (?:ask|asked|asks|questioned|inquires|sees|notices"
        r"|finds)\b[^.]{0,60}\b(?:pretend"
        r"|lie|deny (?:it|this|that|everything|having|any|all|knowledge)|claim (?:that|it|you|not|ignorance)"
        r"|(?:say|answer|reply|respond) (?:that )?(?:nothing|you (?:only|just|did|have not|never)"
        r"|(?:it|they|this|everything|only(?: \w+){1,3}) (?:was|were|stayed|did|(?:has|have) been)))\b",
    ),
    "falsifies": Signal(
        "fabricate falsify forge",
        r"(?<!not )(?<!n't )(?<!never )(?<!or )(?<!to )(?<!avoid )(?<!, )\b(?:fabricate|falsify|forge) (?:an?"
        r" |the |some |any |two |all )?(?:\w+ )?(?:logs?|reports?|results?|reviews?|records?|confirmations?"
        r"|outputs?|answers?|numbers?|evidence)\b",
    ),
    "manipulates_user": Signal(
        "persuade convince trick coax deceive pretend pretending pretext happened assure reassure insist deny"
        " lie & user human customer person that you nothing under it as them when if to",
        r"(?<!not )(?<!never )\blie to (?:the|your|them|anyone)\b|\b(?:re)?assure (?:the user|them)\b"
        r"|\binsist that (?:it|this|they|the|you)\b"
        r"|\bdeny (?:it|this|that|everything)\b[^.]{0,30}\b(?:when|if) (?:asked|questioned|confronted)\b"
        r"|\bpretend(?:ing)? (?:that|you|nothing|it)\b|\bunder (?:the|a) pretext\b|\bas if nothing (?:had"
        r" )?happened"
        r"|(?<!not )(?<!n't )(?<!never )(?<!not to )\b(?:persuade|convince|trick|coax|deceive) (?:the|your)"
        r" (?:user|human|customer|person)\b",
    ),
    "disregards": Signal(
        "regardless irrespective matter whatever even priority precedence overrides override overrules"
        " overrule supersedes supersede ignore ignores ignoring instead originally original insists objects"
        " refuses declines disagrees",
        r"\b(?:regardless|irrespective) of\b|\bno matter (?:what|which|how)\b|\b(?:whatever"
        r"|even if) the user\b|\bwhatever the (?:result|outcome|answer|input)s?\b|\bwhatever (?:was|is|has"
        r" been) (?:asked|requested|said)\b"
        rf"|{_USER} (?:insists?|objects?|refuses?|declines?|disagrees?)\b"
        r"|\b(?:higher|highest|top|takes?|absolute) (?:priority|precedence)\b"
        r"|\bpriority (?:is|over|than)\b|\b(?:overrides?|overrules?|supersedes?) (?:the |any |all )?(?:user"
        r"|other|previous|system)|\bignor(?:e|es|ing) (?:the |any |what the )?user"
        r"|\boriginal(?:ly)? (?:requested|specified|provided|given)\b|\binstead of (?:the )?(?:users?"
        r"|requested|original|specified|provided|what)\b",
    ),
    "drops_instructions": Signal(
        "ignore disregard forget override bypass dismiss overlook discard priority precedence & instruction"
        " instructions"
        " directive directives prompt prompts guidelines guideline guardrails guardrail safeguards safeguard"
        " constraints constraint rules policy policies restrictions restriction messages message context"
        " guidance training",
        r"\b(?:ignore|disregard|forget|override|bypass|dismiss|overlook|discard)\b[^.]{0,30}(?:"
        + any_of("previous prior above earlier preceding your system safety all_other foregoing existing")
        + r"[^.]{0,25}\b(?:instruct\w*|directives?|prompts?|guidelines?|guardrails?|safeguards?|guidance"
        r"|training)\b|"
        # Firewalls, flags and sites have existing rules and policies too.
        + any_of("previous prior above earlier preceding your safety foregoing")
        + r"[^.]{0,25}\b(?:constraints?|rules|polic(?:y|ies)|restrictions?|messages?|context)\b"
        r"|\binstructions (?:of|from) (?:the )?(?:user|system|operator|developer)\b)"
        r"|\b(?:ignore|disregard|forget|override|bypass) all (?:\w+ )?instructions\b"
        r"|\b(?:priority|precedence) over\b[^.]{0,40}\b(?:system prompts?|instructions|guidelines)\b",
    ),
    "demands_obedience": Signal(
        "obey obeyed obeys",
        r"\b(?:to|must|should|shall) be obeyed\b|\bobeys? (?:any|all|every|each|the) (?:\w+ )?(?:command"
        r"|instruction|order)s?\b",
    ),
    "defies_user": Signal(
        "regardless matter ignore ignoring disregard disregarding drop forget override replace priority &"
        " user users person customer operator human they requested asked said typed",
        r"\b(?:regardless of|no matter|ignor(?:e|ing)|disregard(?:ing)?|drop|forget) (?:whatever|what|which"
        r"|whether|how)(?: \w+)? (?:the )?(?:users?|person|customer|operator|human|they)(?: has| have)? "
        + any_of(
            "typed asked asks wanted wants said says specified requested chose entered provided instructed"
        )
        + r"|\b(?:regardless of|no matter) what (?:was|is|has been) (?:requested|asked|said|typed)\b"
        r"|\b(?:ignore|disregard|override|replace) (?:\w+ ){1,4}the user (?:provides|provided|specifies"
        r"|specified|gives|gave|asks|asked|requests|requested|enters|entered|types|typed)\b"
        r"|\bpriority (?:\w+ )?(?:higher|greater|over|above)\b[^.]{0,12}\b(?:the |any )?user\b",
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
        "now mode override instructions instruction message directive longer on onward onwards prompt act"
        " actual real true forget role & you from new developer god admin administrator maintenance debug"
        " unrestricted uncensored unfiltered jailbreak system prompt you your",
        r"\byou are now (?!ready|able|connected|logged|authenticated|using|done|set|signed|on\b)\w"
        r"|\byour (?:new|actual|real|true) (?:role|task|goal|identity|purpose|job) is\b|\bforget (?:that"
        r" )?you(?: are|'re)\b|\byou are no longer (?:an?|the|bound|limited|restricted)\b"
        r"|\bfrom (?:now|here|this point) on(?:wards?)?,? (?:you|always|every|all)\b"
        r"|\bnew (?:system |developer )?(?:instructions?|message|directive|prompt):"
        r"|\b(?:developer|admin|debug|maintenance) mode (?:is )?(?:now )?(?:enabled|activated|engaged|on) ?:"
        # Devices and sites have a developer, debug and maintenance mode.
        r"|\b(?:god|unrestricted|jailbreak) mode\b[^.]{0,20}\b(?:enabled|activated|engaged|active)\b"
        r"|\bact as an? (?:\w+ ){0,2}(?:unrestricted|uncensored|unfiltered)\b"
        r"|\[[\w ]{0,30}\b(?:developer|admin|maintenance|debug|override) mode\b[^\]]{0,20}\]"
        r"|\b(?:enter|activate|switch to"
        r"|you are (?:now )?in) (?:developer|god|admin|unrestricted|maintenance) mode|\b(?:system|prompt"
        r"|admin|administrator) override\b",
    ),
    # --- Who is spoken to, who seems to speak, and how loud ---------------------------------------------
    "addresses_model": Signal(
        "model models assistant assistants ai agent agents llm llms & must should shall has have need needs"
        " required expected instructed instructions note notes rule rules attention message for to :"
        " procedure directive directives",
        r"\b(?:instructions?|notes?|rules?|message|attention)(?: for| to|,) (?:the |any )?(?:ai|llm|model"
        r"|assistant|agent)s?\b|\b(?:ai|llm|model|assistant|agent) (?:instructions?|procedure|directives?"
        r"|notes?) ?[(:]|^(?:ai|llm|model|assistant|agent)s? ?:"
        r"|\b(?:model|assistant|ai|agent|llm)s? (?:must|should|shall|(?:has|have|needs?) to"
        r"|(?:is|are) (?:required|expected|instructed) to)\b(?! not| never)",
    ),
    "poses_as_system": Signal(
        "system sys inst im hidden secret admin assistant internal override directive directives shadow & < ["
        " : instruction instructions directive directives command commands prompt prompts message step rule"
        " task",
        rf"<\|?/?{_ANY_MARK}?\w{{0,20}}(?:im_start|im_end|system|override|hidden|secret|admin|directive)"
        r"\w{0,20}(?: [^>]{0,30})?\|?>|<<sys>>|\[/?inst\]|</?(?:sys|inst|assistant)>"
        r"|(?<!as )\[\[?(?:system|hidden|secret|admin|internal|shadow|override)"
        r"(?: (?:\w+ ){0,2}(?:instruct\w*|note|message|override|prompt|directive))?\]?\]"
        r"|\bsystem (?:instruction|override|message|note|directive|notice|command|alert|reminder"
        r"|prompt)s? ?[:\](#]|\bhidden (?:instruction|directive|command|prompt|step|rule|task)s?\b|^(?:system"
        r"|assistant) ?:",
    ),
    "comments_out": Signal(
        "< display visibility", r"<!--|<\w{1,10} [^>]{0,40}\b(?:display: ?none|visibility: ?hidden)"
    ),
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
        any_of(
            "must mandatory always required have_to needs?_to not_optional ensure make_sure first should"
            " shall automatically requirement essential necessary only_way please immediately be_sure also"
            " muss musst mussen immer doit devez toujours debes? siempre deve sempre"
        )
        + "|必须|务必|必須|一定要|しなければ|してください|должен|обязательно|всегда",
    ),
    "imposes": Signal(
        "must mandatory always required have has optional automatically requirement shall muss immer doit"
        " devez toujours debe debes siempre deve sempre",
        any_of(
            "must mandatory always (?:is|are|be)_required ha(?:ve|s)_to not_optional automatically"
            " requirement shall muss immer doit devez toujours debes? siempre deve sempre"
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
        any_of("skipping omitting neglecting bypassing failure_to failing_to not_doing_so ignoring")
        + rf"[^.]{{0,60}}{any_of('will may could can would might causes? leads? results?')}"
        r"|\b(?:otherwise|or else|without (?:this|it|doing)|if you (?:do not|don'?t"
        r"|skip))\b[^.]{0,60}\b(?:fail|crash|corrupt|overload|break|violat|block|(?:not|won'?t) work"
        r"|refus|suspend|worse|wrong|inaccurate|incomplete|degrad|terminat|unstable)"
        r"|\b(?:fails?|crash(?:es)?|breaks?|worse|wrong|inaccurate|incomplete|degraded) (?:\w+ ){0,2}if you"
        r" (?:do not|don'?t|skip|omit|leave)",
    ),
    "withholds": Signal(
        f"{_NOT_WORDS} can won doesn does will & show display expose output see",
        rf"{_NOT} (?:show|display|expos|output)\w{{0,3}} (?:\w+ ){{1,6}}?(?:to )?(?:the )?user\b"
        r"|\busers? (?:can'?t|cannot|does not|doesn'?t|will not|won'?t) see (?:this|it)\b",
    ),
    "skips_approval": Signal(
        "confirmation confirmations approval approvals approve consent permission asking confirm & skip"
        " bypass"
        f" suppress {_NOT_WORDS} doesn",
        r"\b(?:skip|bypass|suppress)\b[^.]{0,25}\b(?:confirmations?|approvals?|consent|permission)\b"
        r"|\bwithout (?:asking|(?:\w+ )?(?:confirmation|approval|permission))\b"
        rf"|{_NOT} (?:wait|ask)\b[^.]{{0,30}}\b(?:confirm\w*|approv\w*|permission|consent)\b"
        r"|(?: not|n'?t) (?:have|need) to (?:approve|confirm)\b",
    ),
}
"""What sentences say about the user and the model, by name."""
