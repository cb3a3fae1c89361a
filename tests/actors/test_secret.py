"""A secret does not show itself, wherever it is put."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import traceback

import attrs
import pytest

from boyd.actors.secret import Secret, redact
from boyd.runtime.codec import codec_for
from boyd.runtime.errors import EncodeError
from boyd.runtime.wire import pack

CANARY = "sk-canary-0123456789"


@attrs.frozen
class Holder:
    key: Secret


def test_s8_no_text_form_shows_it(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret(CANARY)
    logging.getLogger("test").warning("key %s and %r", secret, Holder(secret))
    shown = [
        repr(secret),
        str(secret),
        f"{secret} {secret!r} {secret!s} {secret:>40}",
        "%s %r" % (secret, secret),  # noqa: UP031  # it is another way
        repr(Holder(secret)),
        repr([secret, {"key": secret}]),
        str(attrs.asdict(Holder(secret))),
        caplog.text,
    ]
    assert not [text for text in shown if CANARY in text]


def test_s8_it_has_no_form_that_leaves_the_process() -> None:
    secret = Secret(CANARY)
    for attempt in (
        lambda: pickle.dumps(secret),
        lambda: json.dumps({"key": secret}),
        lambda: pack({"key": secret}),
        secret.__getstate__,
        lambda: codec_for(object).encode({"key": secret}),
    ):
        with pytest.raises((TypeError, EncodeError)) as caught:
            attempt()
        assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_s8_a_traceback_does_not_print_it() -> None:
    secret = Secret(CANARY)
    with pytest.raises(TypeError) as caught:
        "Bearer " + secret  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_reveal_gives_it_away() -> None:
    assert Secret(CANARY).reveal() == CANARY


def test_secrets_compare_by_value_copy_as_themselves_and_have_no_hash() -> None:
    secret = Secret(CANARY)
    assert secret == Secret(CANARY)
    assert secret != Secret("other")
    assert secret != CANARY
    assert copy.deepcopy(Holder(secret)).key is secret
    assert copy.copy(secret) is secret
    assert Secret("x")
    assert not Secret("")
    with pytest.raises(TypeError):
        hash(secret)


def test_redact_masks_it_in_foreign_words() -> None:
    text = redact(f"Incorrect API key provided: {CANARY}.", Secret(CANARY), Secret(""))
    assert text == "Incorrect API key provided: <secret>."
