"""Who speaks: one incarnation of a system's end of a link, in one of its epochs."""

from __future__ import annotations

import attrs

__all__ = ["Life"]


@attrs.frozen
class Life:
    """One life of one end of a link.

    An end has one incarnation from its start to its end. Each time that it
    begins anew with a peer of another incarnation its epoch grows, so that a
    frame says which beginning it belongs to. Epochs of one incarnation are
    ordered; incarnations are not, and no clock is asked.

    Attributes:
        incarnation: unique among all that ever had this name (`Seams.ids`).
        epoch: from 1.
    """

    incarnation: str
    epoch: int
