# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The reference robots of the shared data; only for test_shared_*.py."""

import numpy as np

from conftest import SHARED
from multibody_dynamics import dynamics as dyn

EQUAL = 1e-12  # of the largest component of each vector


class Case:
    """A robot, its states, and the expected results."""

    def __init__(self, name):
        file = SHARED / "cases" / f"{name}.npz"
        self.expected = dict(np.load(file))
        self.urdf = file.with_suffix(".urdf")
        self.model = dyn.load_urdf(self.urdf, gravity=self.expected["gravity"])
        self.order = [self.model.joint_index(str(name)) for name in self["joint_names"]]
        self.tip = str(self["tip_link"])

    def __getitem__(self, key):
        return self.expected[key]

    @property
    def states(self):
        """q ... q'''' (5, 20, n) in the joint order of the model."""
        return self.rows("q", "qd", "qdd", "q3", "q4")

    def rows(self, *keys):
        rows = np.empty((len(keys), *self["q"].shape))
        rows[..., self.order] = [self[key] for key in keys]
        return rows


def close(actual, expected, axes=1):
    """Equal to 1e-12 of the largest component, or to 1e-14 (for states at rest)."""
    assert actual.shape == expected.shape
    last = tuple(range(expected.ndim - axes, expected.ndim))
    allowed = np.maximum(EQUAL * np.abs(expected).max(axis=last), 1e-14)
    return bool((np.abs(actual - expected).max(axis=last) <= allowed).all())
