"""Swarms: agents that share one thread."""
