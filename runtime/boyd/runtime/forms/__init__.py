"""Wire forms: how a value of each kind of type becomes a plain tree, and a tree that value.

A form is strict both ways: nothing is coerced but int to float, and subclasses
of text and numbers to plain ones, at the sender.
"""

from __future__ import annotations
