# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Functions that depend on the class of their robot."""

from inspect import signature

import pytest

from multibody_dynamics.dynamics.core import answers, by_robot


class Robot:
    pass


class Crane(Robot):
    pass


@by_robot
def legs(model: Robot, each: int = 2) -> int:
    """The number of legs."""
    return 2 * each


@answers(legs, Crane)
def _no_legs(model: Crane, each: int = 2) -> int:
    return 0


@pytest.mark.parametrize(("robot", "expected"), [(Robot(), 6), (Crane(), 0)])
def test_the_class_of_the_robot_decides_however_it_is_given(robot, expected):
    assert legs(robot, 3) == legs(model=robot, each=3) == legs(robot, each=3) == expected


def test_the_function_keeps_its_name_signature_and_docstring():
    assert legs.__name__ == "legs"
    assert legs.__doc__ == "The number of legs."
    assert list(signature(legs).parameters) == ["model", "each"]


def test_a_missing_robot_is_named():
    with pytest.raises(TypeError, match="model"):
        legs(each=3)
