"""The append-only truth of every run: threads of entries, leases on them, and their stores."""

from boyd.runtime.ledger.lease import open_lease
from boyd.runtime.ledger.memory import open_memory_ledger
from boyd.runtime.ledger.opening import open_ledger, open_sqlite_ledger
from boyd.runtime.ledger.protocol import (
    ANY,
    MAX_APPEND,
    MAX_BODY,
    MAX_ENTRIES,
    MAX_NAME,
    AnyTip,
    Durability,
    Entry,
    Lease,
    Ledger,
    LedgerRefused,
    ThreadInfo,
)

__all__ = [
    "ANY",
    "MAX_APPEND",
    "MAX_BODY",
    "MAX_ENTRIES",
    "MAX_NAME",
    "AnyTip",
    "Durability",
    "Entry",
    "Lease",
    "Ledger",
    "LedgerRefused",
    "ThreadInfo",
    "open_lease",
    "open_ledger",
    "open_memory_ledger",
    "open_sqlite_ledger",
]
