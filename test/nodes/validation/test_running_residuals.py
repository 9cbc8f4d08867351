# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Statistics of a stream of samples."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_dynamics.nodes.validation.running_residuals import RunningResiduals


def test_running_residuals_forget():
    running = RunningResiduals(1)
    for t in range(10):
        running.add(float(t), np.array([float(t)]), np.zeros(1))
    assert running.of_last(3.0).rms == pytest.approx(np.sqrt((49 + 64 + 81) / 3))
    assert running.total.count == 10
    assert RunningResiduals(2).of_last(1.0).count == 0
