# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The exceptions form one hierarchy, and each error has the right type."""

import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core.errors import NoSolutionError, OverloadError, refused_as


@pytest.mark.parametrize(
    ("error", "parent"),
    [
        (dyn.DynamicsError, ValueError),
        (dyn.ModelError, dyn.DynamicsError),
        (dyn.InputError, dyn.DynamicsError),
        (dyn.TrajectoryError, dyn.InputError),
        (OverloadError, dyn.InputError),
        (NoSolutionError, dyn.DynamicsError),
        (dyn.ModelWarning, UserWarning),
    ],
)
def test_hierarchy(error, parent):
    assert error.__bases__ == (parent,)


def test_refused_as_changes_type_and_prefix():
    for where, message in (("", "q is bad"), ("joint 'a'", "joint 'a': q is bad")):
        with pytest.raises(dyn.ModelError) as caught, refused_as(dyn.ModelError, where):
            raise dyn.InputError("q is bad")
        assert str(caught.value) == message
    with pytest.raises(ZeroDivisionError), refused_as(dyn.ModelError, "x"):
        raise ZeroDivisionError
