"""Patterns: when to step again."""
