# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Bandwidths and poles out of all proportion are refused by every law, with the joint's name."""

import numpy as np
import pytest

from elastic_arms import linear_arm
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control.gains.joint_values import (
    FASTEST,
    SLOWEST,
    bandwidths,
    is_possible,
)

IMPOSSIBLE = (5e-324, 1e-12, 1e9, 1e150)


def test_bounds():
    np.testing.assert_array_equal(bandwidths([SLOWEST, FASTEST], ("a", "b")), [SLOWEST, FASTEST])
    np.testing.assert_array_equal(bandwidths(30, ("a", "b")), [30.0, 30.0])
    assert is_possible([-10.0 + 3.0j, -1e7, -1e-5]).tolist() == [True, False, False]
    for wrong in IMPOSSIBLE:
        with pytest.raises(dyn.InputError, match=r"motor 'b': bandwidth .* 1/s: must be between"):
            bandwidths([1.0, wrong], ("a", "b"), of="motor")
    with pytest.raises(dyn.InputError, match="bandwidth"):
        bandwidths([1.0, -1.0], ("a", "b"))


@pytest.mark.parametrize("law", dyn.control.LAWS)
def test_every_law_refuses_them(law):
    wrong = IMPOSSIBLE[sorted(dyn.control.LAWS).index(law) % len(IMPOSSIBLE)]
    with pytest.raises(dyn.InputError, match=r"bandwidth is .*: must be between"):
        dyn.control.ControllerSettings(law=law, bandwidth=wrong)


@pytest.mark.parametrize(
    ("law", "size"),
    list(zip(2 * ("state_feedback", "feedback_linearization"), IMPOSSIBLE, strict=True)),
)
def test_poles(law, size):
    model, actuators, q = linear_arm()
    settings = dyn.control.ControllerSettings(position=q, law=law, poles=[-size] * 4)
    with pytest.raises(dyn.InputError, match=r"joint 'shoulder': pole .* must be between"):
        dyn.control.make_controller(model, actuators, settings)
