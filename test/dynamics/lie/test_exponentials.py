# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Exponentials and logarithms over tuples of scalars, at every angle."""

import mpmath as mp
import numpy as np
import pytest

from lie_reference import exact
from multibody_dynamics.dynamics import se3, so3
from multibody_dynamics.dynamics.lie import exponentials

X = np.random.default_rng(81).standard_normal(6)
ANGLES = [0.0, 1e-300, 1e-9, 1e-4, 0.03, 1.0, 2.99, 3.01, 6.0]


def screw(x):
    return tuple(x[:3]), tuple(x[3:])


@pytest.mark.parametrize("angle", ANGLES)
def test_exponentials_equal_those_of_se3(angle):
    x = np.append(X[:3] * angle / np.linalg.norm(X[:3]), X[3:])
    omega, v = screw(x)
    c = exponentials.stumpff(omega)
    np.testing.assert_allclose(c, np.ravel(so3.stumpff(x[:3])), rtol=1e-14, atol=1e-17)
    C = se3.exp(x)
    np.testing.assert_allclose(exponentials.rotation(omega, c), C[:3, :3].ravel(), atol=1e-15)
    np.testing.assert_allclose(exponentials.translation(omega, v, c), C[:3, 3], atol=2e-15)


@pytest.mark.parametrize("angle", ANGLES)
def test_inverse_differentials_equal_those_of_se3(angle):
    x = np.append(X[:3] * angle / np.linalg.norm(X[:3]), X[3:])
    y = np.array([0.3, -1.0, 2.0, 0.7, 0.1, -0.4])
    c = exponentials.stumpff(screw(x)[0])
    found = np.concatenate(exponentials.dexp_inv_se3(screw(x), screw(y), c))
    exact = se3.dexp_inv(x) @ y
    np.testing.assert_allclose(found, exact, atol=2e-14 * np.abs(exact).max())
    turned = exponentials.dexp_inv_so3(screw(x)[0], tuple(y[:3]), c)
    np.testing.assert_allclose(turned, so3.dexp_inv(x[:3]) @ y[:3], rtol=1e-13)


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-8, 0.3, 0.999, 1.001, 3.0, 7.0])
def test_exp_se3_at_all_angles_is_the_matrix_exponential(size):
    X = np.array([0.6, -0.48, 0.64, 2.0, 0.3, -1.0])
    X[:3] *= size
    R, p = exponentials.exp_se3(screw(X))
    C = mp.expm(mp.matrix(exact(se3.hat(X)).tolist()))
    expected = np.array(C.tolist(), dtype=float)
    np.testing.assert_allclose(np.reshape(R, (3, 3)), expected[:3, :3], atol=4e-16)
    np.testing.assert_allclose(p, expected[:3, 3], atol=4e-15)


@pytest.mark.parametrize("angle", [0.0, 1e-170, 1e-9, 0.0999, 0.1001, 1.0, 3.1415, np.pi])
def test_quaternion_logarithms_at_all_angles(angle):
    for axis in np.vstack([np.eye(3), -np.eye(3), [[0.6, 0.0, -0.8], [1 / 3, -2 / 3, 2 / 3]]]):
        w, x = exponentials.quaternion(tuple(so3.exp(angle * axis).ravel()))
        omega = exponentials.quaternion_log(w, x)
        g, _ = exponentials.cotangent(exponentials.stumpff(omega))
        np.testing.assert_allclose(so3.exp(omega), so3.exp(angle * axis), atol=1e-15)
        assert np.linalg.norm(omega) == pytest.approx(angle, rel=1e-12)
        wanted, _ = so3.cotangent(so3.stumpff(angle * axis))
        assert g == pytest.approx(float(wanted.item()), rel=1e-12)
