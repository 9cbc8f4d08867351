# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The rows of cut joints without logarithms, against the motions that the joints permit."""

import numpy as np
import pytest

from mechanisms import JOINTS
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.mechanisms.loop_rows import closure_rows

SUPPORTED = {
    **{name: X for name, X in JOINTS.items() if name != "two parallel hinges"},
    "slides and cross": np.vstack(
        [dyn.prismatic((1, 0.2, 0)), dyn.prismatic((0, 1, 0.1)), JOINTS["universal"]]
    ),
    "planar from three hinges": np.stack(
        [dyn.revolute((1, 2, 3), point) for point in ((0, 0, 0), (1, 0, 0), (0, 1, 0.5))]
    ),
    "slide, and a hinge at an angle": np.vstack([dyn.prismatic((1, 0, 0)), JOINTS["revolute"]]),
}


def loop(free):
    return dyn.mechanisms.LoopClosure("knee", "a", "b", free)


def residuals(rows, D):
    """f of the rows for the pose D of the second frame in the first one; turns up to half a one."""
    R, p = D[:3, :3], D[:3, 3]
    f = np.array([row.u @ (R @ row.x + row.is_point * p - row.c) - row.value for row in rows])
    screws = np.array([row.pitch * row.u for row in rows])
    return f - screws @ se3.log(D)[:3]


def chain(free, x):
    D = np.eye(4)
    for screw, amount in zip(np.atleast_2d(free), x, strict=True):
        D = D @ se3.exp(screw * amount)
    return D


@pytest.mark.parametrize("name", SUPPORTED)
@pytest.mark.parametrize("seed", range(2))
def test_rows_vanish_on_the_free_motions_and_only_there(name, seed):
    free = np.reshape(SUPPORTED[name], (-1, 6))
    rows = closure_rows(loop(free))
    assert len(rows) == 6 - len(free)
    D = chain(free, np.random.default_rng(seed).uniform(-1, 1, len(free)))
    np.testing.assert_allclose(residuals(rows, D), 0, atol=1e-14)
    h = 1e-6
    slopes = [
        (residuals(rows, D @ se3.exp(h * e)) - residuals(rows, D @ se3.exp(-h * e))) / (2 * h)
        for e in np.eye(6)
    ]
    assert np.linalg.svd(slopes, compute_uv=False).min() > 0.1


def test_names_of_rows():
    names = [row.name for row in closure_rows(loop(dyn.revolute((0, 0, 1))))]
    assert names == [
        *(f"loop 'knee': translation along {axis}" for axis in "xyz"),
        "loop 'knee': rotation about y",
        "loop 'knee': rotation about x",
    ]


@pytest.mark.parametrize(
    ("free", "message"),
    [
        (np.stack([JOINTS["helical"], dyn.revolute((1, 0, 0))]), "or one of several is helical"),
        (JOINTS["two parallel hinges"], "parallel axes"),
        (
            np.stack([dyn.revolute((1, 0, 0)), dyn.revolute((0, 1, 0), (0, 0, 1))]),
            "no common point",
        ),
        (
            np.stack([dyn.revolute((1, 0, 0)), dyn.prismatic((0, 1, 0))]),
            "turns before it slides; exchange `first` and `second`",
        ),
    ],
)
def test_joints_of_another_form_are_refused(free, message):
    with pytest.raises(dyn.ModelError, match=f"loop 'knee': .*{message}"):
        closure_rows(loop(free))
