# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Order of components, names of representations, and a table of symbols that matches the code."""

import numpy as np
import pinocchio as pin
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core.inputs import STATE_ROWS
from multibody_dynamics.dynamics.lie.conventions import check_representation
from rejections import assert_rejected

SCREW = np.arange(1.0, 7.0)


def test_linear_first_is_the_order_of_pinocchio():
    motion = pin.Motion(dyn.to_linear_first(SCREW))
    np.testing.assert_array_equal(motion.angular, SCREW[:3])
    np.testing.assert_array_equal(motion.linear, SCREW[3:])
    force = pin.Force(dyn.to_linear_first(SCREW))
    np.testing.assert_array_equal(force.angular, SCREW[:3])


@pytest.mark.parametrize("shape", [(6,), (1, 6), (2, 3, 6), (0, 6)])
def test_from_linear_first_inverts_to_linear_first(shape):
    screws = np.random.default_rng(1).normal(size=shape)
    moved = dyn.to_linear_first(screws)
    assert moved.shape == shape
    np.testing.assert_array_equal(moved[..., :3], screws[..., 3:])
    np.testing.assert_array_equal(dyn.from_linear_first(moved), screws)


@pytest.mark.parametrize("function", [dyn.to_linear_first, dyn.from_linear_first])
def test_a_copy_is_returned(function):
    screw = SCREW.copy()
    assert not np.shares_memory(function(screw), screw)
    np.testing.assert_array_equal(screw, SCREW)


@pytest.mark.parametrize("function", [dyn.to_linear_first, dyn.from_linear_first])
@pytest.mark.parametrize("bad", [np.zeros(5), 1.0, np.full(6, np.nan), np.zeros(6) * 1j, ["a"] * 6])
def test_invalid_screws_are_rejected(function, bad):
    assert_rejected((lambda: function(bad), "screw"))


def test_representations():
    assert dyn.REPRESENTATIONS == ("spatial", "body", "hybrid", "mixed")
    for name in dyn.REPRESENTATIONS:
        assert check_representation(name) == name


@pytest.mark.parametrize("bad", ["Spatial", "", "world", None, 3])
def test_an_unknown_representation_is_rejected_and_the_known_ones_are_listed(bad):
    assert_rejected((lambda: check_representation(bad), "spatial, body, hybrid, mixed"))


def test_the_table_lists_names_that_exist():
    names = {name for symbol in dyn.lie.SYMBOLS for name in symbol.name.split(", ")}
    assert names >= {*STATE_ROWS, *dyn.InverseDynamics._fields, *dyn.BodyMotion._fields}
    attributes = {*dir(dyn.MultibodyModel), *dyn.MultibodyModel.__dataclass_fields__}
    assert {name[6:] for name in names if name.startswith("model.")} <= attributes
    assert len({symbol.symbol for symbol in dyn.lie.SYMBOLS}) == len(dyn.lie.SYMBOLS)
