"""The parts of a message that vary from line to line, replaced by the names of their kinds.

Masking is by token (a token is what stands between spaces), and a pure function of the token, so
its results can be remembered without changing anything.
"""

import re

NUMBER, ADDRESS, HEX, PATH, URL, UUID, TIME, MAC, MAIL, LONG = (
    "<num>",
    "<ip>",
    "<hex>",
    "<path>",
    "<url>",
    "<uuid>",
    "<time>",
    "<mac>",
    "<mail>",
    "<long>",
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
IPV4 = rf"(?<![\w.]){_OCTET}(?:\.{_OCTET}){{3}}(?![\w]|\.\d)"
IPV6 = (
    r"(?<![\w:.])(?:(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}"
    r"|(?:[0-9A-Fa-f]{1,4}:){1,6}:(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,5})?"
    r"|::(?:[0-9A-Fa-f]{1,4}:){0,6}[0-9A-Fa-f]{1,4})(?![\w:])"
)
_VARYING = re.compile(
    rf"""(?x)
      (?P<url> (?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://[^\s"'<>\])]+ )
    | (?P<uuid> (?<!\w)[0-9A-Fa-f]{{8}}-(?:[0-9A-Fa-f]{{4}}-){{3}}[0-9A-Fa-f]{{12}}(?!\w) )
    | (?P<mac> (?<![\w:])(?:[0-9A-Fa-f]{{2}}[:-]){{5}}[0-9A-Fa-f]{{2}}(?![\w:]) )
    | (?P<time> (?<!\d)(?:(?:19|20)\d\d[-/.]\d\d[-/.]\d\d(?:[T_-]\d\d[:.]\d\d[:.]\d\d[.\d]*Z?)?
              | \d\d:\d\d:\d\d(?:[.,]\d+)?)(?!\d) )
    | (?P<ip> {IPV4} | {IPV6} )
    | (?P<mail> (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+ )
    | (?P<dev> (?<![\w./])/dev/\w+(?![\w/]) )
    | (?P<path> (?<![\w.<])(?:\.{{0,2}}|[A-Za-z]:)(?:/(?!/)[\w.@%+~=,-]*|\\[\w.-]+){{2,}}
              | (?<![\w.<])/(?:[\w.@%+~=,-]+)(?=$|[:;,?)\]"']) )
    | (?P<pkg> (?<!\w)[a-z0-9][a-z0-9.+-]*:(?:amd64|arm64|armhf|i386|all|x86_64|noarch)(?!\w) )
    | (?P<ver> (?<!\w)\d+(?::\d+)?(?:\.\w+)+(?:[-+~][A-Za-z0-9][\w.]*)+(?!\w) )
    | (?P<hex> (?<!\w)(?:0[xX][0-9A-Fa-f]+|(?=[A-Fa-f]*\d)(?=\d*[A-Fa-f])[0-9A-Fa-f]{{8,}})(?!\w) )
    | (?P<num> [-+]?\d+(?:[.,:+~-]\d+)* )
    """
)
_LIMIT = 20_000
_LONG = 64
_ENDLESS = 250
_QUERY = re.compile(r"[?#]\S*")


def mask(token: str) -> str:
    """Return the token with everything that varies replaced: `port=8080` gives `port=<num>`."""
    if token.isdigit():
        return NUMBER
    if (token.isalpha() and len(token) <= _ENDLESS) or token.startswith("http-"):
        return token
    if len(token) > _ENDLESS:
        return LONG
    if "/" in token and ("?" in token or "#" in token):
        token = _QUERY.sub("", token, count=1) or token
    return _VARYING.sub(_name_of_kind, token)


def _name_of_kind(match: re.Match[str]) -> str:
    return f"<{match.lastgroup}>"


class Masks(dict[str, str]):
    """Masks of tokens, remembered: a bounded memory that starts anew when it is full."""

    def __missing__(self, token: str) -> str:
        """Mask a token that was not seen lately."""
        masked = mask(token)
        if len(token) <= _LONG:
            if len(self) >= _LIMIT:
                self.clear()
            self[token] = masked
        return masked
