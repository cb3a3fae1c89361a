"""Errors as data, and back."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boyd.runtime import BoydError, EncodeError, MailboxFull, RemoteFailure, errors, failure
from boyd.runtime.failure import (
    FAILURES,
    Failure,
    encode_failure,
    failure_of,
    failure_of_crash,
    is_answer,
    text_of,
    to_exception,
)
from boyd.runtime.ledger import LedgerRefused
from tests.runtime.stage import Refused


def round_trip(error: Exception) -> Exception:
    """What an asker gets."""
    return to_exception(FAILURES.decode(encode_failure(failure_of(error))))


def test_a_registered_error_arrives_as_its_class_with_its_attributes_and_notes() -> None:
    error = Refused("no")
    error.add_note("said the clerk")
    again = round_trip(error)
    assert type(again) is Refused
    assert str(again) == "refused: no"
    assert (again.why, again.code, again.tries) == ("no", "t.no", 3)
    assert again.__notes__ == ["said the clerk"]


def test_an_error_that_is_a_frozen_attrs_class_arrives_whole() -> None:
    @failure("t.Frozen")
    @attrs.frozen
    class Frozen(BoydError):
        limit: int
        used: int

    again = round_trip(Frozen(3, 5))
    assert isinstance(again, Frozen)
    assert (again.limit, again.used) == (3, 5)


def test_any_other_error_arrives_as_a_remote_failure() -> None:
    again = round_trip(KeyError("x"))
    assert type(again) is RemoteFailure
    assert again.type == "KeyError"
    assert str(again) == "KeyError: 'x'"


def test_a_remote_failure_travels_on_unchanged() -> None:
    first = round_trip(ValueError("boom"))
    again = round_trip(first)
    assert isinstance(again, RemoteFailure)
    assert (str(again), again.type) == ("ValueError: boom", "ValueError")


def test_every_error_of_the_runtime_keeps_its_class() -> None:
    for name in errors.__all__:
        cls = getattr(errors, name)
        assert to_exception(Failure(type=f"boyd.{name}", message="text")).__class__ is cls
        assert not is_answer(cls.__new__(cls))


def test_a_crash_is_not_told_as_if_the_ask_had_not_been_sent() -> None:
    told = failure_of_crash(MailboxFull("/other is full"))
    assert isinstance(to_exception(told), RemoteFailure)
    assert isinstance(to_exception(failure_of(MailboxFull("mine"))), MailboxFull)
    assert isinstance(to_exception(failure_of_crash(Refused("no"))), Refused)


def test_a_subclass_of_an_answer_is_none_unless_registered() -> None:
    class Worse(Refused):
        pass

    assert is_answer(Refused("no"))
    assert not is_answer(Worse("no"))


def test_a_tag_belongs_to_one_class() -> None:
    with pytest.raises(TypeError, match=r"failure tag 't\.Refused' is taken by .*Refused"):
        failure("t.Refused")(LedgerRefused)


def test_attributes_without_a_wire_form_stay_behind() -> None:
    error = Refused("no")
    loop: list[object] = []
    loop.append(loop)
    vars(error).update(
        handle=print, surrogate="\udcff", big=2**80, huge="x" * 10_000_000, loop=loop
    )
    again = round_trip(error)
    assert set(vars(again)) == {"why", "code", "tries"}


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_of_an_error_can_be_sent(text: str) -> None:
    error = Exception(text)
    error.add_note(text)
    again = round_trip(error)
    assert text_of(error).encode("utf-8") is not None
    if text and text.encode("utf-8", "replace").decode() == text:
        assert text in str(again)


def test_an_error_cannot_be_told_to_overwrite_what_makes_it_an_error() -> None:
    told = Failure(
        type="t.Refused", message="m", fields={"args": [1], "__class__": 1, "a b": 2, "why": "x"}
    )
    again = to_exception(told)
    assert again.args == ("m",)
    assert vars(again) == {"why": "x"}


def test_encode_errors_name_the_path() -> None:
    with pytest.raises(EncodeError):
        encode_failure(Failure(type="x", message=3))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
