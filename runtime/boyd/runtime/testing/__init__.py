"""The test kit of the stage: probes, seeded order, faults by counting, leak checks, wire locks,
and two ends of a link over a simulated network."""

from boyd.runtime.testing.faults import Faulty, InjectedFault, cancel_at_each_checkpoint, fail_kth
from boyd.runtime.testing.leaks import assert_no_leaks
from boyd.runtime.testing.links import SimulatedEnd, SimulatedLinks
from boyd.runtime.testing.network import Flight, NetworkFaults, SimulatedNetwork
from boyd.runtime.testing.probe import Hop, Probe, open_probe, wire_spy
from boyd.runtime.testing.seeded import InlineOffload, SeededDispatcher, seeded_seams
from boyd.runtime.testing.wire_lock import check_wire_lock

__all__ = [
    "Faulty",
    "Flight",
    "Hop",
    "InjectedFault",
    "InlineOffload",
    "NetworkFaults",
    "Probe",
    "SeededDispatcher",
    "SimulatedEnd",
    "SimulatedLinks",
    "SimulatedNetwork",
    "assert_no_leaks",
    "cancel_at_each_checkpoint",
    "check_wire_lock",
    "fail_kth",
    "open_probe",
    "seeded_seams",
    "wire_spy",
]
