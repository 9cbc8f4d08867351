# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Machine code for one robot: equal to the general recursion, and stored under what it contains."""

import ctypes

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.codegen import machine_code
from multibody_dynamics.dynamics.core import IS_COMPILED, compilation
from multibody_dynamics.dynamics.rigid.specialised_kernel import SpecialisedKernel, addresses, table
from reference import error
from robots import draw, panda, random_tree

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="needs Numba")


def run(address, model, state):
    result = np.full((3, model.n), np.nan)
    arrays = np.ascontiguousarray(state), np.array(model.joint_rows), np.array(model.gravity)
    where = addresses(table(*arrays, result))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(where.ctypes.data)
    return result


def test_angles_of_many_turns():
    model = panda()
    address = SpecialisedKernel(model).compile()
    state = draw(model, 5)
    for angle in (99_999.0, 100_001.0, 1e12):
        state[0, 3] = angle
        expected = np.array(dyn.inverse_dynamics(model, *state))
        assert error(run(address, model, state), expected) < 1e-12


def test_payloads_and_gravity_need_no_new_code():
    model = panda()
    kernel = SpecialisedKernel(model)
    loaded = model.with_payload("panda_link7", 1.5, (0, 0.02, 0.1), np.diag([0.01, 0.02, 0.03]))
    loaded = loaded.with_gravity((0.0, 0.0, -1.62))
    assert kernel.fits(loaded.joint_rows, loaded.gravity)
    assert SpecialisedKernel(loaded).compile() == kernel.compile()
    state = draw(model, 5)
    expected = np.array(dyn.inverse_dynamics(loaded, *state))
    assert error(run(kernel.compile(), loaded, state), expected) < 1e-12
    tilted = model.with_gravity((1.0, 0.0, -9.81))
    assert not kernel.fits(tilted.joint_rows, tilted.gravity)
    assert not SpecialisedKernel(tilted).fits(random_tree(7, 1).joint_rows, tilted.gravity)


def test_code_is_compiled_once(tmp_path, monkeypatch):
    monkeypatch.setattr(compilation, "_CACHE", tmp_path)
    monkeypatch.setattr(machine_code, "_engines", {})
    model = random_tree(2, 9)
    assert SpecialisedKernel(model).ready() is None
    address = SpecialisedKernel(model).compile()
    assert SpecialisedKernel(model).ready() == SpecialisedKernel(model).compile() == address
    assert len(list(tmp_path.iterdir())) == 1
    memory = machine_code._engines
    monkeypatch.setattr(machine_code, "_engines", {})
    again = SpecialisedKernel(model).ready()
    assert again is not None
    state = draw(model, 5)
    np.testing.assert_array_equal(run(again, model, state), run(address, model, state))
    assert SpecialisedKernel(random_tree(2, 10)).ready() is None
    assert len(memory) == 1


def test_pause_is_called_while_compiling(monkeypatch):
    monkeypatch.setattr(compilation, "_CACHE", None)
    monkeypatch.setattr(machine_code, "_engines", {})
    calls = []
    SpecialisedKernel(random_tree(3, 11)).compile(lambda: calls.append(1))
    assert len(calls) > 20
