"""Runs: how a definition is brought to life, watched, answered and ended."""
