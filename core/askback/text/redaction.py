"""Hides secrets in texts: registered ones, and anything that looks like one."""

from __future__ import annotations

__all__ = ["REDACTED_TEXT", "contains_known_secret", "redact", "register_secret_pattern", "register_secrets"]

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

REDACTED_TEXT = "[hidden]"
SHORTEST = 6
"""Fewest characters of a secret to hide. Hiding shorter ones would only make texts unreadable."""

# All patterns below are bounded and begin with a fixed text, so that a hostile text cannot cause quadratic time.
_KEY = (
    r"(?:token|(?:secret|password|passwd|cookie|signature)(?:[_-][\w-]{0,40}+)?+|passphrase|api[_-]?key|access[_-]?key"
    r"|account[_-]?key|signing[_-]?key|private[_-]?key|credentials?|authorization|ticket|trigger_id|response_url)"
)
_STEPS = r"\\{0,8}"
"""Backslashes before a quote, as in JSON inside JSON."""
_SHORT_KEY = r"(?<![a-z0-9])(?:pass|pwd)"
"""Also words of other texts, and the working directory of a shell."""
_PAIR = rf"""{_STEPS}["']\s{{0,4}}[:,]\s{{0,4}}b?"""
"""The characters between a name in quotes and its value."""
_QUOTED = r"""(?P<esc>\\{0,8})(?P<quote>["'])(?P<hidden>(?:(?!(?<!\\)(?P=esc)(?P=quote))[^\r\n])+)"""
"""A value in quotes, up to the closing quote or the end of the line."""
_VALUE = r"""[^\s"'&,;)}\]]"""
"""A character of a value without quotes."""
_PLAIN = (
    r"(?:(?:required|optional|missing|incorrect|unchanged|disabled|forbidden|rejected|accepted|undefined|anything|nothing"
    r"|something|whatever|everything|accessible|inaccessible|available|unavailable|supported|unsupported|generated"
    r"|provided|described|protected|encrypted|redacted|secretstr|[a-z]+(?:_[a-z]+){1,8})(?![\w-]))"
)
"""Words after the colon of a sentence. Words with underscores are error codes and names of variables."""
_ALONE = rf"""(?!{_PLAIN}|[<$*{{\[(/~])[^\s"']{{7,200}}[^\s"'.,;:?…)\]}}](?=[ \t]{{0,8}}(?:$|[\r\n"']|\\[nr]))"""
"""The only word up to the end of its line or text, as in YAML and in headers."""
_BEHIND_COLON = rf"""(?P<keep_colon>:[ \t]{{1,4}})(?:(?=[^\s"']{{0,200}}\d)[^\s"',;)}}\]]{{6,}}|{_ALONE})"""
_FLAG = (
    r"(?<![\w-])--(?:[a-z0-9]{1,20}[-_]){0,3}(?:token|password|passwd|pass|pwd|passphrase|secret|credentials?"
    r"|(?:api|access|private|signing)[-_]?key)[ \t]{1,4}"
)
_PROSE = (
    r"(?:(?:is|was|are|has|had|needs?|must|may|can|cannot|does|do|will|should|takes?|names?|gives?|means?|exists|given|or"
    r"|and|of|from|to|in|for|with|without|by|if|when|where|as|on|here|there|which|that|it|its|you|we|they|a|an|the|not"
    r"|no|only|too|also|alone|again|twice|once|out|option|flag)(?![\w-])|(?-i:[A-Z][A-Z_]*(?![\w-])))"
)
"""Text that follows an option in a sentence or in a help text but is not its value."""
_SCHEME = r"(?:basic|bearer|bot|token|negotiate|ntlm|apikey|aws4-hmac-sha256)"
_START = r"(?:(?<![\w-])|(?<=\\[nrt]))"
"""The beginning of a word, also after an escaped line end."""
_PREFIXED = (
    r"gh[pousr]_[a-z0-9]{20,255}",
    r"github_pat_\w{20,255}",
    r"gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|soat|agent)-[\w-]{16,255}",
    r"sk-[\w-]{8,}",
    r"[rsp]k_(?:live|test)_\w{10,255}",
    r"whsec_[\w+/=-]{16,255}",
    r"npm_[a-z0-9]{30,255}",
    r"pypi-[\w-]{40,255}",
    r"hf_[a-z0-9]{30,255}",
    r"hv[bsr]\.[\w-]{20,255}",
    r"dop_v1_[0-9a-f]{32,64}",
    r"shp(?:at|ca|pa|ss)_[0-9a-f]{32}",
    r"lin_api_\w{20,255}",
    r"sg\.[\w-]{16,64}\.[\w-]{16,128}",
    r"atatt3[\w=-]{20,255}",
    r"(?-i:SK)[0-9a-f]{32}(?!\w)",
    r"age-secret-key-1[0-9a-z]{50,64}",
    r"aiza[\w-]{30,64}",
    r"ya29\.[\w-]{20,}",
    r"gocspx-[\w-]{20,64}",
    r"eyJ[\w-]{4,4000}\.eyJ[\w-]+\.[\w-]*",
    r"eyJ[\w-]{8,4000}\.[\w-]+\.[\w-]*",
    r"(?-i:(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})(?!\w)",
)
"""Tokens that services mark with a prefix."""
_PRIVATE_KEY = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
    r"(?:[^-]|-(?!----END))*(?:-----END [A-Z0-9 ]{0,40}-----)?"
)
_SHAPES = [
    re.compile(shape, re.IGNORECASE)
    for shape in (
        # A private key, also on one line, and also if its end was cut off.
        _PRIVATE_KEY,
        # In quotes: JSON, JSON within JSON, Python's dictionaries and pairs, settings and YAML.
        # "token": "…", (b'x-key', b'…'), token = "two words", password: 'two words'
        rf"(?P<keep>(?:{_KEY}|{_SHORT_KEY})(?:{_PAIR}|[ \t]{{0,4}}[=:][ \t]{{0,4}})){_QUOTED}",
        # In addresses, forms and fields: token=…
        # In YAML and headers, where it does not look like a sentence: password: hunter2, x-api-key: hunterhunter
        rf"(?:{_KEY}|(?<=_)(?:pass|pwd))(?:(?P<keep>[ \t]{{0,4}}=[ \t]{{0,4}}){_VALUE}+|{_BEHIND_COLON})",
        r"""(?P<keep>[?&;]sig=)[^\s"'&,;)}\]]+""",
        # pass=…, but neither a count nor a folder
        rf"(?P<keep>(?<![\w-])(?:pass|pwd)=)(?![/~.]|[a-z]:\\){_VALUE}{{6,}}",
        # In commands: --password x, -u name:x
        rf"""(?P<keep>{_FLAG})(?:{_QUOTED}|(?!-|{_PROSE}|[<$\[(])[^\s"'`]{{1,500}})""",
        r"""(?P<keep>(?<![\w-])(?:-u|--(?:proxy-)?user)[ \t]{1,4}["']?[\w.@+-]{1,64}:)(?!\d+(?!\w))[^\s"']{1,500}""",
        # In headers: Authorization: Basic …
        rf"""(?P<keep>authorization{_STEPS}["']?[:,]\s{{0,4}}["']?{_SCHEME}\s{{1,4}})[^\r\n"']+""",
        r"""(?P<keep>authorization:\s{0,4}digest\s{1,4})[^\r\n]+""",
        r"""(?P<keep>(?<![\w-])(?:set-)?cookie:[ \t]{0,4})(?:(?!\\[rn])[^\r\n"'])+""",
        r"(?P<keep>\bbearer\s{1,4})[\w.~+/=-]{6,}",
        r"(?P<keep>\b(?:basic|bot)\s{1,4})(?:[\w.~+/=-]{20,}|[\w+/]{6,}={1,2}(?!\w))",
        rf"{_START}(?:{'|'.join(_PREFIXED)})",
        # https://user:password@host, where the password may hold anything; a port is not a password.
        r"""(?P<keep>\b[a-z][a-z0-9+.-]{0,20}://)(?:[^\s/@:"']{0,200}:(?!\d{1,5}[/?#])[^\s"']{1,500}|[^\s/@:"']{20,200})(?=@)""",
    )
]
_ADDRESS = re.compile(r"""\b(?:https?|wss?):(?:\\{0,8}/){2}[^\s"'<>]+""", re.IGNORECASE)
# A secret in the path of an address: something long and random between slashes. Plain numbers are ids. One in a hundred
# random secrets has no digit, but then capitals after small letters.
_RANDOM = re.compile(r"(?<=/)(?=[\w-]*[A-Za-z])(?=[\w-]*(?:\d|[a-z][\w-]*[A-Z]))[\w-]{16,}")

_KEPT = ("keep", "keep_colon", "quote")
"""Groups that stay visible, before the secret."""

_known: frozenset[str] = frozenset()
_any_known: re.Pattern[str] | None = None


def register_secrets(*secrets: str) -> None:
    """Hide these secrets from now on, also as they appear in an address, in JSON, or in a `repr` of Python.

    Forms shorter than `SHORTEST` are not hidden.
    """
    global _known, _any_known
    given = [secret.strip() for secret in secrets]
    forms = {form for one in given for form in (one, quote(one, safe=""), json.dumps(one)[1:-1], repr(one)[1:-1])}
    known = _known | {form for form in forms if len(form) >= SHORTEST}
    if known != _known:
        # Put the longest first, since one secret may begin with another.
        _any_known = re.compile("|".join(map(re.escape, sorted(known, key=len, reverse=True))))
        _known = known


def contains_known_secret(text: str) -> bool:
    """Return True if a registered secret is in the text, in any of the forms that are hidden."""
    return _any_known is not None and _any_known.search(text) is not None


def register_secret_pattern(pattern: str) -> None:
    """Hide every match of this pattern, except its group `keep`. For callers that know the form of a secret."""
    shape = re.compile(pattern)
    if shape not in _SHAPES:
        _SHAPES.append(shape)


def redact(text: str) -> str:
    """Return the text with each secret replaced by `REDACTED_TEXT`. Secrets that overlap are hidden as one."""
    shown, at = list[str](), 0
    for start, end in sorted(_find_secrets(text)):
        if start > at or not shown:
            shown += (text[at:start], REDACTED_TEXT)
        at = max(at, end)
    return "".join(shown) + text[at:]


def _find_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each secret. They may overlap."""
    if _any_known is not None:
        yield from (match.span() for match in _any_known.finditer(text))
    for shape in _SHAPES:
        for match in shape.finditer(text):
            kept = (match.end(name) for name in _KEPT if name in shape.groupindex)  # -1 if it is not in this match
            yield max((match.start(), *kept)), match.end()
    for address in _ADDRESS.finditer(text):
        yield from (match.span() for match in _RANDOM.finditer(text, *address.span()))
