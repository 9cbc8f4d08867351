"""Over tuples of scalars the same as so3 and se3, at every angle."""

import numpy as np
import pytest

from multibody_dynamics.dynamics import se3, so3
from multibody_dynamics.dynamics.lie import exponentials

X = np.random.default_rng(81).standard_normal(6)
ANGLES = [0.0, 1e-300, 1e-9, 1e-4, 0.03, 1.0, 2.99, 3.01, 6.0]


def screw(x):
    return tuple(x[:3]), tuple(x[3:])


@pytest.mark.parametrize("angle", ANGLES)
def test_exponentials_are_those_of_se3(angle):
    x = np.append(X[:3] * angle / np.linalg.norm(X[:3]), X[3:])
    omega, v = screw(x)
    c = exponentials.stumpff(omega)
    np.testing.assert_allclose(c, np.ravel(so3.stumpff(x[:3])), rtol=1e-14, atol=1e-17)
    C = se3.exp(x)
    np.testing.assert_allclose(exponentials.rotation(omega, c), C[:3, :3].ravel(), atol=1e-15)
    np.testing.assert_allclose(exponentials.translation(omega, v, c), C[:3, 3], atol=2e-15)


@pytest.mark.parametrize("angle", ANGLES)
def test_inverse_differentials_are_those_of_se3(angle):
    x = np.append(X[:3] * angle / np.linalg.norm(X[:3]), X[3:])
    y = np.array([0.3, -1.0, 2.0, 0.7, 0.1, -0.4])
    c = exponentials.stumpff(screw(x)[0])
    found = np.concatenate(exponentials.dexp_inv_se3(screw(x), screw(y), c))
    exact = se3.dexp_inv(x) @ y
    np.testing.assert_allclose(found, exact, atol=2e-14 * np.abs(exact).max())
    turned = exponentials.dexp_inv_so3(screw(x)[0], tuple(y[:3]), c)
    np.testing.assert_allclose(turned, so3.dexp_inv(x[:3]) @ y[:3], rtol=1e-13)
