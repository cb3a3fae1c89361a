"""What a person must know of how a source was read: how far, which lines were odd, and what was not done."""

from .reading import LINE_CAP
from .summary import SourceSummary
from .text import clean, counted

_KIB = 1024
_LONGEST = 160


def failure_remark(source: SourceSummary) -> str:
    """Why a source failed, and how far it was judged before that; empty if it did not."""
    if not source.error:
        return ""
    reason = source.error.removeprefix(f"{source.name}: ")
    return f"{source.name} failed, {extent(source)}: {reason}"


def extent(source: SourceSummary) -> str:
    """How much of a source was judged."""
    if not source.judged:
        return "no line of it was judged"
    return f"judged up to line {source.judged:,}"


def odd_lines(source: SourceSummary) -> list[str]:
    """What was wrong with lines, worth a word to whoever sent them."""
    bad, said = source.bad, list[str]()
    if source.done and not source.lines:
        said.append("it has no lines")
    if cut := bad.get("cut", 0):
        left_out = counted(bad.get("cut bytes", 0), "byte")
        said.append(
            f"{_were(cut)} longer than {LINE_CAP // _KIB} KiB and cut ({left_out} left out)"
        )
    if foreign := bad.get("not UTF-8", 0):
        said.append(f"{_were(foreign)} not UTF-8 and read with replacement marks")
    if nuls := bad.get("with NUL bytes", 0):
        said.append(f"{counted(nuls, 'line')} had NUL bytes, which were left out")
    return said


def lost_calls(source: SourceSummary) -> str:
    """How much of what was decided came to nothing, and why the first of it did; empty if all was done."""
    if not source.failed_calls:
        return ""
    came = f"{source.failed_calls:,} of {counted(source.calls, 'call')} came to nothing"
    return f"{came}: {clean(source.failure, _LONGEST)}"


def notes(source: SourceSummary) -> list[str]:
    """All remarks on a source, for the table of sources."""
    said = odd_lines(source)
    if blank := source.bad.get("blank", 0):
        said.append(counted(blank, "blank line"))
    if timeless := source.bad.get("without a time", 0):
        said.append(f"{counted(timeless, 'line')} without a time")
    if lost := lost_calls(source):
        said.append(lost)
    if source.error:
        said.insert(0, failure_remark(source).removeprefix(f"{source.name} "))
    elif not source.done:
        said.insert(0, f"not read to its end, {extent(source)}")
    return said


def _were(count: int) -> str:
    return f"{counted(count, 'line')} {'was' if count == 1 else 'were'}"
