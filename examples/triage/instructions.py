"""Texts in the data that give orders to whoever reads them, a language model above all.

Anybody who can write to a log (a user name, a user agent, a path) can write such a text. It is
reported as a finding; nothing in this example does what it says, whoever decides.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence

import attrs

from .text import clean

MOST = 20
"""How many are kept of one batch; the rest is counted."""

# Cheap words that any such text contains: only lines with one of them are looked at closely.
_HINTS = (
    "ignore",
    "disregard",
    "forget",
    "override",
    "instruction",
    "prompt",
    "you are",
    "you must",
    "system:",
    "assistant:",
    "assistant",
    "[inst]",
    "<|im_",
    "block ",
    "whitelist",
    "do not report",
    "jailbreak",
    "as an ai",
)
_WHOSE = (
    r"(?:(?:all|any|every|your|the|these|those|my|our|of|previous|prior|above|earlier|other)"
    r"\W+){0,5}"
)
_ORDER = re.compile(
    rf"""(?xi)
    (?P<override> \b(?:ignore|disregard|forget|override|bypass)\W+{_WHOSE}
        (?:instruction|rule|prompt|guideline|directive|polic(?:y|ies)|constraint|order|training
        |command|message|safeguard|restriction)s?\b )
    | (?P<role> \byou\W+(?:are|are\W+now|act\W+as|must\W+now\W+act\W+as)\W+(?:now\W+)?
        (?:an?|the|in)\W+(?:\w+\W+){{0,3}}?(?:ai|assistant|agent|model|llm|chatbot|bot|admin\w*
        |developer\W+mode|root|dan)\b )
    | (?P<voice> (?:^|[\s"'>\]|=+:])(?:\[|<\|?|\#+\ *)?(?:system|assistant|developer)
        (?:\W+(?:prompt|message|note|override))?\s?(?:\]|\|?>)?\s?:\W*(?:you\b|ignore|disregard
        |please|now\b|do\ not|don't|new\W+(?:rule|instruction|task)|execute|run|block|unblock|allow
        |delete|disable|the\W+(?:agent|assistant|model)|from\W+now) )
    | (?P<markup> <\|im_(?:start|end)\|> | \[/?INST\] | <</?SYS>>
        | <\|(?:system|user|assistant)\|> )
    | (?P<order> \b(?:please\W+|now\W+|must\W+|and\W+|then\W+|to\W+|should\W+|:\W*|,\W*|;\W*)
        (?:un)?(?:block|ban|whitelist|allow-?list|firewall)\W+(?:(?:the|this|ip|host|address|network
        |subnet|server)\W+){{0,3}}(?:\d{{1,3}}\.){{3}}\d{{1,3}} )
    | (?P<hide> \b(?:do\ not|don't|never)\W+(?:report|mention|flag|log|alert|escalate)\W+
        (?:this|these|that|any|it|about|on|the)\b )
    | (?P<reveal> \b(?:reveal|print|output|repeat|show)\W+(?:me\W+)?(?:your|the)\W+
        (?:system\W+)?(?:prompt|instructions)\b )
    | (?P<new> \bnew\W+(?:instruction|rule|order)s?\W+(?:for|to)\W+(?:the\W+)?
        (?:ai|agent|assistant|model|llm|bot)\b )
    """
)


@attrs.frozen(kw_only=True)
class Instruction:
    """A line that reads like an order to an agent. The text was made safe to show."""

    line: int
    shape: str
    text: str
    time: float | None = None


def find_instructions(
    lines: Sequence[str], times: Sequence[float | None] = (), *, first_line: int
) -> tuple[tuple[Instruction, ...], int]:
    """Return the orders found in a batch, at most `MOST` of them, and how many there were.

    `first_line` is the number of the first of the lines; `times` are theirs, if known.
    """
    whole = "\n".join(lines).lower()
    starts = _starts(lines)
    if len(whole) + 1 != starts[-1]:  # lower-casing a rare letter changed the length
        whole = "\n".join(lines)
    suspects: set[int] = set()
    for hint in _HINTS:
        at = whole.find(hint)
        while at >= 0:
            index = bisect_right(starts, at) - 1
            suspects.add(index)
            at = whole.find(hint, starts[index + 1])
    found: list[Instruction] = []
    total = 0
    for index in sorted(suspects):
        match = _ORDER.search(lines[index][:8192])
        if match is None:
            continue
        total += 1
        if len(found) < MOST:
            found.append(
                Instruction(
                    line=first_line + index,
                    shape=match.lastgroup or "order",
                    text=clean(_around(lines[index], match.start())),
                    time=times[index] if index < len(times) else None,
                )
            )
    return tuple(found), total


def _starts(lines: Sequence[str]) -> list[int]:
    starts = [0]
    at = 0
    for line in lines:
        at += len(line) + 1
        starts.append(at)
    return starts


def _around(line: str, at: int) -> str:
    """Return the line, or the part of a long one that holds the order."""
    begin = max(0, at - 80) if len(line) > 280 else 0
    return ("…" if begin else "") + line[begin : begin + 280]
