# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A run knows what was measured, and rejects inconsistent arguments."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn

idn = dyn.identification
ROWS = np.arange(20.0).reshape(10, 2)


def test_signals_are_known_by_joint():
    half = ROWS.copy()
    half[:, 1] = np.nan
    run = idn.MeasuredRun("a", 100.0, q=ROWS, current=half)
    assert run.has("q").all()
    assert run.has("current").tolist() == [True, False]
    assert not run.has("sensor").any()


def test_stretches_are_the_parts_between_gaps():
    run = idn.MeasuredRun("a", 100.0, theta=ROWS, starts=(0, 4))
    assert run.stretches == [slice(0, 4), slice(4, 10)]
    assert run.position is run.theta


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"q": ROWS, "current": ROWS[:5]}, "run 'a': expected signals \\(k, n\\) of the joints"),
        ({"current": ROWS}, "neither q nor theta"),
        ({"q": ROWS, "rate": 0.0}, "rate 0.0: must be positive"),
        ({"q": ROWS, "starts": (0, 7, 3)}, "starts: must ascend"),
        ({"q": np.where(ROWS == 5.0, np.nan, ROWS)}, "run 'a': q"),
        ({"q": ROWS + 0j}, "q: expected real numbers, got an array of complex128"),
    ],
)
def test_runs_that_do_not_fit_together_are_refused(given, says):
    with pytest.raises(dyn.InputError, match=says):
        idn.MeasuredRun("a", **{"rate": 100.0, **given})


def test_a_payload_has_a_positive_mass():
    with pytest.raises(dyn.InputError, match="payload 'b': mass -1"):
        idn.CarriedPayload("b", -1.0)
