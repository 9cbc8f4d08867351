# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Residuals of a fit resemble the effects that act, where they act."""

import numpy as np
import pytest

from drive_runs import planar, real_run
from multibody_dynamics.dynamics.identification.drives.missing_terms import (
    NAMES,
    NOTABLE,
    explained,
)
from multibody_dynamics.dynamics.identification.drives.robot_identification import _Identification


def fitted(**effects):
    """A first fit without any effect."""
    model, actuators = planar()
    work = _Identification(model, [real_run(**effects)], actuators, None, (), None)
    work.begin()
    return work


def shares(work):
    """Those that are notable, by site."""
    equations, found = work.equations, {}
    for k, channel in enumerate(equations.channels):
        every = explained(work.fitted, k)
        assert every.keys() <= NAMES.keys()
        found[equations.site_of(channel)] = {x for x, share in every.items() if share > NOTABLE}
    return found


def test_nothing_is_named_where_nothing_is_missing():
    assert not any(shares(fitted()).values())


def test_friction_that_grows_with_the_load_is_named_at_the_links():
    found = shares(fitted(coulomb=0.5, bristle=1e-5, load=0.08))
    assert "load" in found["link shoulder"] & found["link elbow"]


def test_the_share_is_that_of_a_fit_with_one_column_more():
    work = fitted(coulomb=0.5, bristle=1e-5, load=0.08)
    eq, fit, co = work.equations, work.fit, work.coefficients
    (k,) = (k for k, each in enumerate(eq.channels) if eq.site_of(each) == "link elbow")
    channel = eq.channels[k]
    rows = np.concatenate([x.rows[x.used[:, k]][:, eq.places[k]] for x in work.blocks])
    z, slope = co.of(channel, fit.theta)
    own = rows @ slope[:, np.array(co.parameters.free)]
    speed = fit.theta[co.parameters.index["link elbow.coulomb_velocity"]]
    y = rows[:, channel.blocks["coulomb"]] @ eq.nodes_of(channel).weights(speed)[0]
    load = y * np.abs(rows[:, channel.blocks["spring"]] @ z[channel.blocks["spring"]])
    left = []
    for columns in (own, np.column_stack([own, load])):
        scaled = columns[:, columns.any(axis=0)]
        scaled = scaled / np.linalg.norm(scaled, axis=0)
        rest = rows @ z - scaled @ np.linalg.lstsq(scaled, rows @ z, rcond=1e-12)[0]
        left.append(rest @ rest)
    share = explained(work.fitted, k)["load"]
    assert share == pytest.approx(1.0 - left[1] / left[0], rel=0.05)
