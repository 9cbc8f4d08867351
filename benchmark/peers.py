# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Other programs that compute the same, where they are installed: dynibo, and code by CasADi."""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numba
import numpy as np

from multibody_dynamics import dynamics as dyn

DYNIBO_GRAVITY = (0.0, 0.0, -9.80665)  # its default
FUNCTION = "casadi_rnea"


def dynibo_rnea(urdf: Path, rows: list[np.ndarray]) -> Callable[[], Any] | None:
    """Q by dynibo (Rust) from Python, with its default gravity; None if it is not installed."""
    if find_spec("dynibo") is None:
        return None
    robot = import_module("dynibo").Robot.from_urdf(urdf)
    q, v, a = rows[:3]
    return lambda: robot.inverse_dynamics(q, v, a)


def casadi_code(model: dyn.MultibodyModel, state: np.ndarray) -> Any | None:
    """Q, Q' and Q'' by C code that CasADi generates from the body-fixed recursion, compiled by the
    system's compiler: (function, result), where function(calls) repeats it in compiled code. None
    without CasADi or a compiler."""
    compiler = shutil.which("cc")
    if find_spec("casadi") is None or compiler is None:
        return None
    casadi = import_module("casadi")
    n = model.n
    symbols = [casadi.SX.sym(f"q{k}", n) for k in range(5)]
    scalars = [[row[i] for i in range(n)] for row in symbols]
    results = dyn.generic_inverse_dynamics(
        model, *scalars, representation="body", sin=casadi.sin, cos=casadi.cos
    )
    function = casadi.Function(FUNCTION, symbols, [casadi.vertcat(*row) for row in results])
    generator = casadi.CodeGenerator(f"{FUNCTION}.c")
    generator.add(function)
    folder = Path(tempfile.mkdtemp())
    generator.generate(f"{folder}/")
    library = folder / f"{FUNCTION}.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC"]
    command = [compiler, *flags, str(folder / f"{FUNCTION}.c"), "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    code = getattr(ctypes.CDLL(str(library)), FUNCTION)
    code.restype, code.argtypes = ctypes.c_int, [ctypes.c_void_p] * 4 + [ctypes.c_int]
    inputs, result = state.copy(), np.zeros((3, n))
    arguments, outputs = (
        np.zeros(function.sz_arg(), np.int64),
        np.zeros(function.sz_res(), np.int64),
    )
    arguments[:5] = [row.ctypes.data for row in inputs]
    outputs[:3] = [row.ctypes.data for row in result]
    integers, reals = np.zeros(function.sz_iw() + 1, np.int64), np.zeros(function.sz_w() + 1)

    @numba.njit
    def repeat(count, inputs, arguments, outputs, integers, reals):
        """The changing state prevents hoisting."""
        for _ in range(count):
            inputs[0, 0] = inputs[0, 0] + 1e-12
            code(arguments.ctypes, outputs.ctypes, integers.ctypes, reals.ctypes, 0)

    return lambda calls: repeat(calls, inputs, arguments, outputs, integers, reals), result
