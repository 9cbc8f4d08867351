# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Rates of Baumgarte stabilisation."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import Baumgarte, DynamicsError, InputError


def test_rates_are_immutable():
    pull = Baumgarte(20.0, 10.0)
    assert (pull.alpha, pull.beta) == (20.0, 10.0)
    with pytest.raises(AttributeError):
        pull.alpha = 1.0
    assert Baumgarte(0.0, 0.0) == Baumgarte(0, 0)


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ((-1.0, 1.0), "Baumgarte: alpha must not be negative, got -1.0"),
        ((1.0, -2.0), "Baumgarte: beta must not be negative"),
        ((np.nan, 1.0), "Baumgarte: alpha is nan"),
        ((1.0, [1.0, 2.0]), r"Baumgarte: beta: expected shape \(\)"),
    ],
)
def test_invalid_rates_are_rejected(rates, message):
    with pytest.raises(InputError, match=message):
        Baumgarte(*rates)
    assert issubclass(InputError, DynamicsError)
