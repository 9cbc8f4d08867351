# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Imported by the process from which nodes are forked: a cycle of every law loads the machine code
that nodes need, for which each of them would read the cache."""

from __future__ import annotations

from elastic_arms import at_rest_under, at_start, linear_arm, signals_of
from multibody_dynamics.dynamics.control.laws.controller_settings import LAWS

ARM = linear_arm()
LAW = at_rest_under(ARM)
(Q, _, THETA, _), _, _ = at_start(ARM)
for k, name in enumerate(LAWS):
    LAW.start(name, 0.0)
    LAW.measure(2e-3 * k, signals_of(LAW, Q, THETA))
    LAW.update(2e-3, 1e-3)
