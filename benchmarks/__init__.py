"""Workloads, bare floors and (later) peers, side by side in one run. See `python -m benchmarks list`."""
