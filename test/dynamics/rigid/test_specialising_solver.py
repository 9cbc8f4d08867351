# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Which kernel is in force, whatever the solver computes."""

import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.codegen import Calls
from robots import random_tree

pytestmark = pytest.mark.skipif(
    not Calls.available(), reason="machine code needs Numba, which is optional"
)


def test_a_kernel_that_disagrees_is_not_used(monkeypatch):
    model = random_tree(2, 1)
    assert dyn.InverseDynamicsSolver(model, specialise=True).wait() == "specialised"
    monkeypatch.setattr(dyn.InverseDynamicsSolver, "_agrees", lambda *_: False)
    with pytest.warns(RuntimeWarning, match="differ from the general ones, and are not used"):
        solver = dyn.InverseDynamicsSolver(model, specialise=True)
    assert solver.wait() == "general"
