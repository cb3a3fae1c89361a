"""Log triage: a swarm of OODA agents that reads logs and reports incidents.

Run it with `boyd run examples/triage`.
"""

from .actions import tools
from .command import command
from .demo import demo
from .incident import show_incident

__all__ = ["command", "demo", "show_incident", "tools"]
