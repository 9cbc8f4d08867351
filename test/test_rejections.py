# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A row of bad input fails if its call succeeds or its message lacks a word."""

import pytest

from multibody_dynamics.dynamics.core import InputError
from rejections import assert_rejected


def reject():
    raise InputError("joint 'a': stiffness is -1: must be positive")


def test_every_row_that_fails_is_reported():
    assert_rejected((reject, "'a' positive"), (reject, ""))
    assert_rejected((lambda: 1 / 0, "division"), error=ZeroDivisionError)
    assert_rejected((reject, "'a'"), (lambda: 1 / 0, "division", ZeroDivisionError))
    with pytest.raises(
        pytest.fail.Exception, match=r"row 1 \(K\) is accepted: 3\nrow 3: \['mass'\]"
    ):
        assert_rejected((lambda: 3, "K"), (reject, "'a'"), (reject, "is mass"))


def test_an_error_of_another_class_is_raised():
    with pytest.raises(ZeroDivisionError):
        assert_rejected((lambda: 1 / 0, "division"))
