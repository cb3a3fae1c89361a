"""Graphs: nodes that run when what they need is there. So far the frontier executor that OODA stands on."""
