# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Free bodies by their momenta: exact conservation, and the order of the method."""

from dataclasses import replace

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.integration.butcher import METHODS

FREE = replace(dyn.integration.examples.floating_bodies(), joints=())


@pytest.mark.parametrize("group", ["SE3", "SO3xR3"])
@pytest.mark.parametrize("method", METHODS)
def test_order_and_momentum(group, method):
    s = FREE.with_group(group)
    exact = dyn.integration.integrate(s, 0.2, 1e-3, "dormand_prince")
    results = [dyn.integration.integrate_momenta(s, 0.2, h, method) for h in (1e-2, 5e-3)]
    errors = [np.abs(r.pose[-1] - exact.pose[-1]).max() for r in results]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(METHODS[method].order, abs=0.4)
    for r in results:  # the rest is rounding, by M^-1 and back
        np.testing.assert_allclose(
            r.momentum, np.broadcast_to(r.momentum[0], r.momentum.shape), atol=5e-15
        )
    drift = dyn.integration.integrate(s, 0.2, 1e-2, method).momentum
    assert np.abs(drift - drift[0]).max() > 1e-13  # by velocities it drifts


def test_weight_and_wrenches_change_momentum_by_their_integral():
    s = replace(FREE, gravity=(0, 0, -9.81), wrenches={"link_1": [0.1, 0, 0, 0, 0.3, 0]})

    def pulse(t, pose):
        return np.stack([np.zeros(6), [0, 0, np.sin(t), t, 0, 0]])

    result = dyn.integration.integrate_momenta(s, 0.5, 1e-3, wrenches=pulse)
    exact = dyn.integration.integrate(
        s, 0.5, 1e-2, "dormand_prince", wrenches=lambda t, C, V: pulse(t, C)
    )
    np.testing.assert_allclose(result.pose[-1], exact.pose[-1], atol=1e-5)
    gain = result.momentum[-1] - result.momentum[0]
    assert gain[3:] == pytest.approx([0.125, 0.15, -2 * 2.7 * 9.81 * 0.5])


def test_bodies_with_joints_raise():
    with pytest.raises(dyn.InputError, match="'heavy_top' has joints or springs; integrate_mom"):
        dyn.integration.integrate_momenta(dyn.integration.examples.heavy_top(), 1.0, 0.1)
