"""Model back ends: the protocol, the one module that speaks HTTP, and the adapters."""
