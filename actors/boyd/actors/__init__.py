"""The cast: agents, tools, OODA, swarms. Start with `Agent` and `tool`."""

from boyd.actors.agent import Agent
from boyd.actors.budget import Budget, BudgetExceeded, Spending
from boyd.actors.conversation.artifacts import (
    Artifact,
    Delta,
    Event,
    Image,
    Reasoning,
    ReasoningDelta,
    StopReason,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    Usage,
)
from boyd.actors.conversation.transcript import check_transcript
from boyd.actors.conversation.turns import Turn
from boyd.actors.events import (
    Activity,
    Approve,
    ErrorEvent,
    Lifecycle,
    Notice,
    Pending,
    Reject,
    ToolFinished,
    ToolStarted,
    TurnComplete,
)
from boyd.actors.ooda.agent import Ooda
from boyd.actors.ooda.current import Current, current_cycle
from boyd.actors.ooda.cycle import ActionResult, Cycle, CycleComplete, Decision, PhaseStarted
from boyd.actors.ooda.products import Product, read_products
from boyd.actors.patterns.react import ReAct, StepLimit
from boyd.actors.providers.errors import ModelError
from boyd.actors.providers.openai import OpenAI
from boyd.actors.providers.protocol import Provider
from boyd.actors.providers.retry import RetryPolicy
from boyd.actors.runs.result import Result, RunPaused, RunUnfinished
from boyd.actors.runs.run import Run
from boyd.actors.runs.runnable import Runnable
from boyd.actors.secret import Secret
from boyd.actors.swarm.blackboard import Blackboard
from boyd.actors.swarm.swarm import (
    MemberFinished,
    MemberRestarted,
    Swarm,
    SwarmChanged,
    SwarmStarted,
)
from boyd.actors.tools.define import Tool, tool
from boyd.actors.tools.questions import Question, questions_of
from boyd.actors.tools.spec import Call, Effect, Risk, ToolError

__all__ = [
    "ActionResult",
    "Activity",
    "Agent",
    "Approve",
    "Artifact",
    "Blackboard",
    "Budget",
    "BudgetExceeded",
    "Call",
    "Current",
    "Cycle",
    "CycleComplete",
    "Decision",
    "Delta",
    "Effect",
    "ErrorEvent",
    "Event",
    "Image",
    "Lifecycle",
    "MemberFinished",
    "MemberRestarted",
    "ModelError",
    "Notice",
    "Ooda",
    "OpenAI",
    "Pending",
    "PhaseStarted",
    "Product",
    "Provider",
    "Question",
    "ReAct",
    "Reasoning",
    "ReasoningDelta",
    "Reject",
    "Result",
    "RetryPolicy",
    "Risk",
    "Run",
    "RunPaused",
    "RunUnfinished",
    "Runnable",
    "Secret",
    "Spending",
    "StepLimit",
    "StopReason",
    "Swarm",
    "SwarmChanged",
    "SwarmStarted",
    "Text",
    "TextDelta",
    "Tool",
    "ToolCall",
    "ToolCallDelta",
    "ToolError",
    "ToolFinished",
    "ToolResult",
    "ToolStarted",
    "Turn",
    "TurnComplete",
    "Usage",
    "check_transcript",
    "current_cycle",
    "questions_of",
    "read_products",
    "tool",
]
