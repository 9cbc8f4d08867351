# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The matrices without checks equal those of the groups, and take any scalars."""

from fractions import Fraction

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.lie import screw_matrices

RNG = np.random.default_rng(1)
X = RNG.normal(size=(4, 6))


def test_they_equal_the_functions_of_the_groups():
    C = dyn.se3.exp(X)
    np.testing.assert_array_equal(screw_matrices.hat(X[:, :3]), dyn.so3.hat(X[:, :3]))
    for name, argument in (("ad", X), ("coad", X), ("Ad", C), ("coAd", C)):
        expected = getattr(dyn.se3, name)(argument)
        np.testing.assert_array_equal(getattr(screw_matrices, name)(argument), expected)


def test_they_take_objects():
    exact = np.array([[Fraction(x) for x in row] for row in X.tolist()], dtype=object)
    a, b = (screw_matrices.ad(exact[k]) for k in range(2))
    bracket = screw_matrices.ad(a @ exact[1])
    np.testing.assert_array_equal(bracket, a @ b - b @ a)  # exactly, in rational numbers
    np.testing.assert_array_equal(screw_matrices.coad(exact[0]), -a.T)
    C = dyn.se3.exp(X).astype(object)
    found = screw_matrices.Ad(C).astype(float)
    np.testing.assert_allclose(found, dyn.se3.Ad(dyn.se3.exp(X)), atol=1e-14)
