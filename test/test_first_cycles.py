# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""No control cycle compiles, or loads machine code: a controller that does is late, and stops."""

import gc
import pkgutil
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from numba.core.dispatcher import Dispatcher

from elastic_arms import EVERY_ARM, Arm, at_rest_under, at_start, linear_arm, sample_of
from multibody_dynamics import nodes
from multibody_dynamics.dynamics.control.laws.controller_settings import DEFAULT_LAW, LAWS
from multibody_dynamics.dynamics.core.compilation import MACHINE_CODE

CASES = [*((linear_arm, law) for law in LAWS), *((arm, DEFAULT_LAW) for arm in EVERY_ARM)]


def compiled() -> dict[str, int]:
    """The number of signatures of every compiled function."""
    found = [x for x in gc.get_objects() if isinstance(x, Dispatcher)]
    return {f"{x.py_func.__module__}.{x.py_func.__qualname__}": len(x.overloads) for x in found}


def compiled_in_cycles(arm: Arm, law: str) -> list[str]:
    """The functions compiled at rest, after a gap, in motion, and in a fault; joints turn on."""
    turning = ["continuous" if kind == "revolute" else kind for kind in arm.model.joint_types]
    arm = arm._replace(model=replace(arm.model, joint_types=tuple(turning)))
    made = at_rest_under(arm, law=law)
    q, _, theta, _ = at_start(arm)[0]
    before = compiled()
    for k in (*range(50), *range(80, 200)):  # ms
        if k == 120 and made.motion.is_active:
            made.motion.go(q + 0.01, 0.5)
        made.update(sample_of(made, 1e-3 * k, q, theta + (1.0 if k > 180 else 0.0)))
    return [name for name, count in compiled().items() if count > before.get(name, 0)]


def test_no_cycle_of_any_law_on_any_arm_compiles():
    """In a process of its own, in which no other test has compiled anything."""
    made = subprocess.run([sys.executable, Path(__file__)], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert made.stdout.splitlines() == ["[]"] * len(CASES)


def test_no_node_compiles_at_every_start():
    """Only machine code of `dynamics` is cached: changes elsewhere would go unnoticed."""
    for module in pkgutil.iter_modules(nodes.__path__, f"{nodes.__name__}."):
        import_module(module.name)
    ours = [module for module, _ in MACHINE_CODE if module.startswith("multibody_dynamics.")]
    assert {module.split(".")[1] for module in ours} == {"dynamics"}


if __name__ == "__main__":
    for make, law in CASES:
        print(compiled_in_cycles(make(), law))
