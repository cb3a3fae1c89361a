"""What a scout can do: tools that write facts on the swarm's blackboard, and one that is gated."""

import json
from pathlib import Path
from typing import Annotated, Literal

from boyd.actors import Blackboard, Call, Decision, Effect, Risk, ToolError, current_cycle, tool
from boyd.runtime import Context, message

from .facts import DEEDS, Action, Fact, fact, suspicion_of
from .orient import Orientation
from .outputs import BLOCKLIST
from .rules import strong_address

Key = Annotated[str, "the key of a suspicion, as the orientation gives it"]
Incident = Annotated[str, "the key of the incident; the suspicion's own key if it is empty"]
Why = Annotated[str, "the reason, in one sentence"]
Severity = Literal["low", "medium", "high", "critical"]


@message("triage.noted")
class Noted:
    """A fact of the shared thread: something was decided and done, on this evidence."""

    fact: Fact

    def __str__(self) -> str:
        action = self.fact.action
        about = action.title or action.incident or action.key
        place = f"{self.fact.source}, line {self.fact.line:,}"
        return f"{self.fact.by} {DEEDS[action.what]} {about} ({place}): {action.why}"


async def _note(ctx: Context, action: Action) -> str:
    """Join an action with the evidence that was measured in this cycle, and post it, once."""
    current = await current_cycle(ctx, Orientation)
    if action.what != "quiet" and suspicion_of(current.view, action.key) is None:
        known = ", ".join(suspicion.key for suspicion in current.view.suspicions[:20]) or "none"
        raise ToolError(f"this cycle has no suspicion {action.key!r}; it has: {known}")
    noted = fact(current.view, action, by=current.decision.by)
    await Blackboard.of(ctx).post(Noted(fact=noted), key=json.dumps(noted.place))
    ctx.publish("triage/noted", Noted(fact=noted))
    return f"{action.what}: {action.incident or action.key}"


@tool(effect=Effect.IDEMPOTENT)
async def open_incident(
    ctx: Context,
    *,
    key: Key,
    title: str,
    why: Why,
    incident: Incident = "",
    kind: str = "",
    severity: Severity | None = None,
) -> str:
    """Open an incident about a suspicion."""
    where = incident or key
    return await _note(
        ctx,
        Action(
            what="open",
            key=key,
            incident=where,
            why=why,
            kind=kind,
            title=title,
            severity=severity or "",
        ),
    )


@tool(effect=Effect.IDEMPOTENT)
async def extend_incident(
    ctx: Context, key: Key, why: Why, incident: Incident = "", kind: str = ""
) -> str:
    """Add this cycle's evidence about a suspicion to an incident that is open already."""
    return await _note(
        ctx, Action(what="extend", key=key, incident=incident or key, why=why, kind=kind)
    )


@tool(effect=Effect.IDEMPOTENT)
async def quiet_template(ctx: Context, template: int, why: Why) -> str:
    """Quiet a message template that fills the log and tells of no trouble."""
    action = Action(
        what="quiet", key=f"template:{template}", incident="", why=why, template=template
    )
    return await _note(ctx, action)


@tool(effect=Effect.IDEMPOTENT, risk=Risk.DANGEROUS)
async def propose_block(
    ctx: Context,
    address: Annotated[str, "an address that was measured as the origin of many failed logins"],
    why: Why,
    incident: Incident = "",
    folder: Annotated[str, "where blocklist.txt is kept"] = ".",
) -> str:
    """Propose to block an address. A person must approve it; only then it is put on the block list."""
    path = Path(folder) / BLOCKLIST
    await ctx.system.offload(_add_line, path, address)
    await Blackboard.of(ctx).post(
        Blocked(address=address, incident=incident, why=why), key=f"blocked:{address}"
    )
    return f"{address} is on the list in {path}"


@message("triage.blocked")
class Blocked:
    """A fact of the shared thread: a person approved that an address is blocked."""

    address: str
    incident: str
    why: str

    def __str__(self) -> str:
        return f"{self.address} was put on the block list: {self.why}"


def _add_line(path: Path, line: str) -> None:
    try:
        known = path.read_text().splitlines() if path.exists() else []
        if line not in known:
            with path.open("a") as stream:
                stream.write(line + "\n")
    except OSError as error:
        raise ToolError(f"{path} could not be written: {error.strerror or error}") from error


def endorse(call: Call, view: Orientation) -> str | None:
    """Nobody is asked to block an address that only stands in some text: it must have been measured."""
    address = str(call.arguments.get("address", ""))
    if call.tool == "propose_block" and strong_address(view, address) is None:
        return f"{address} was not measured as the origin of failed logins"
    return None


tools = (open_incident, extend_incident, quiet_template, propose_block)


def call_for(action: Action, folder: str) -> Call:
    """The tool call that does what the rules decided."""
    match action.what:
        case "open":
            return open_incident.call(
                key=action.key,
                title=action.title,
                why=action.why,
                incident=action.incident,
                kind=action.kind,
            )
        case "extend":
            return extend_incident.call(
                key=action.key, why=action.why, incident=action.incident, kind=action.kind
            )
        case "quiet":
            return quiet_template.call(template=action.template, why=action.why)
        case "propose_block":
            return propose_block.call(
                address=action.address, why=action.why, incident=action.incident, folder=folder
            )


def actions_of(decision: Decision) -> tuple[Action, ...]:
    """The actions that a decision's calls stand for, whoever decided."""
    return tuple(action for call in decision.calls if (action := _action_of(call)) is not None)


_WHAT = {
    "open_incident": "open",
    "extend_incident": "extend",
    "quiet_template": "quiet",
    "propose_block": "propose_block",
}


def _action_of(call: Call) -> Action | None:
    """Read a call; one that a model botched is no action."""
    given, what = call.arguments, _WHAT.get(call.tool)

    def text(name: str) -> str:
        value = given.get(name)
        return value if isinstance(value, str) else ""

    template = given.get("template")
    if what is None:
        return None
    key = text("key") or (
        f"template:{template}" if what == "quiet" else f"address:{text('address')}"
    )
    return Action(
        what=what,  # type: ignore[arg-type]  # one of the four
        key=key,
        incident="" if what == "quiet" else text("incident") or key,
        why=text("why"),
        kind=text("kind"),
        title=text("title"),
        severity=text("severity"),
        address=text("address"),
        template=template if isinstance(template, int) else 0,
    )


def facts_of(view: Orientation, decision: Decision) -> tuple[Fact, ...]:
    """What a decision adds to what is known of a source."""
    return tuple(fact(view, action, by=decision.by) for action in actions_of(decision))
