"""S13: a frame that no key of the peer has signed is not even decoded."""

from __future__ import annotations

import attrs
import pytest

from boyd.runtime.link import FrameForged, Key, Keys, Refused
from boyd.runtime.link.auth import open_sealed, seal
from boyd.runtime.link.frames import Void, encode_frame
from tests.runtime.link.pair import met, of_kind
from tests.runtime.link.test_frames import ROUTE
from tests.runtime.link.world import parcel

OLD = Key(id="k1", secret=b"0123456789abcdef0123456789abcdef")
NEW = Key(id="k2", secret=b"fedcba9876543210fedcba9876543210")
BARE = encode_frame(Void(route=ROUTE, seq=9))
SEALED = bytes.fromhex(
    "c101026b31943b2c3ac85b2d4e05f7f9aec07048b6f590a656800b8964e2520a64d8010a43"
    "990103a46c656674a36c2d3102a57269676874a3722d310309"
)


def test_a_sealed_frame_has_the_bytes_that_it_always_had() -> None:
    """Both ways."""
    assert seal(BARE, Keys(sign=OLD)) == SEALED
    assert open_sealed(SEALED, Keys(sign=OLD)) == BARE


def test_s13_no_truncation_and_no_flipped_bit_is_accepted() -> None:
    """Of head, mac and frame alike."""
    keys = Keys(sign=OLD)
    for end in range(len(SEALED)):
        with pytest.raises(FrameForged):
            open_sealed(SEALED[:end], keys)
    for at in range(len(SEALED)):
        for bit in range(8):
            forged = SEALED[:at] + bytes([SEALED[at] ^ 1 << bit]) + SEALED[at + 1 :]
            with pytest.raises(FrameForged):
                open_sealed(forged, keys)
    with pytest.raises(FrameForged):
        open_sealed(SEALED + b"\0", keys)


def test_s13_a_frame_without_a_mac_is_no_way_around_it() -> None:
    """And an end without keys takes no sealed one for a bare one."""
    with pytest.raises(FrameForged):
        open_sealed(BARE, Keys(sign=OLD))
    links = met()
    links.right.link.receive(SEALED, links.now)
    assert links.right.link.statistics().refused == 1


def test_s13_a_key_is_of_one_pair_only() -> None:
    """Another id, or another secret of the same id, is a stranger's."""
    for keys in (Keys(sign=NEW), Keys(sign=attrs.evolve(NEW, id="k1"))):
        with pytest.raises(FrameForged):
            open_sealed(SEALED, keys)


def test_keys_rotate_without_a_gap() -> None:
    """Accept both, sign with the new one, accept it alone."""
    both = Keys(sign=NEW, accept=(OLD,))
    assert open_sealed(SEALED, both) == BARE
    assert open_sealed(seal(BARE, both), Keys(sign=OLD, accept=(NEW,))) == BARE
    assert open_sealed(seal(BARE, both), Keys(sign=NEW)) == BARE
    with pytest.raises(FrameForged):
        open_sealed(SEALED, Keys(sign=NEW))


def test_keys_that_protect_nothing_are_refused_and_secrets_are_not_shown() -> None:
    """When they are made."""
    with pytest.raises(ValueError, match="32 bytes"):
        Key(id="k", secret=b"short")
    for id_ in ("", "é", "k" * 65):
        with pytest.raises(ValueError, match="ASCII"):
            Key(id=id_, secret=bytes(32))
    with pytest.raises(ValueError, match="same id"):
        Keys(sign=OLD, accept=(attrs.evolve(NEW, id="k1"),))
    assert "0123" not in repr(Keys(sign=OLD, accept=(NEW,)))


def test_two_ends_with_a_key_speak_and_a_stranger_is_told_as_forged() -> None:
    """Its frames are counted, and change nothing."""
    links = met(keys=Keys(sign=OLD))
    links.send(links.left, parcel(b"true"))
    links.run(1)
    assert [one.parcel.body for one in links.right.delivered()] == [b"true"]
    for frame in (b"", BARE, seal(BARE, Keys(sign=NEW)), b"\xc1\x01"):
        links.right.link.receive(frame, links.now)
    links.run(1)
    assert links.right.link.statistics().forged == 4
    assert all(isinstance(one.error, FrameForged) for one in of_kind(links.right, Refused))
