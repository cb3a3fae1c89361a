"""Observe, orient, decide, act: Boyd's loop, each phase and each facet an actor."""
