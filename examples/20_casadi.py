# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Q, Q' and Q'' as expressions of CasADi: derivatives, C code, constraints of an optimisation.

python examples/20_casadi.py [--code FILE.c]
"""

import argparse
from pathlib import Path

import casadi
import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory

ROBOT = share_directory() / "config" / "robots" / "panda.urdf"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--code", type=Path, metavar="FILE.c", help="write Q, Q', Q'' as C code")
    options = parser.parse_args(arguments)
    model = dyn.load_urdf(ROBOT)

    x = casadi.SX.sym("x", 5, model.n)  # q, q', ..., q''''
    state = [casadi.horzsplit(row) for row in casadi.vertsplit(x)]
    rows = dyn.generic_inverse_dynamics(model, *state, sin=casadi.sin, cos=casadi.cos)
    Q = casadi.vertcat(*(casadi.horzcat(*row) for row in rows))  # (3, n)
    torques = casadi.Function("torques", [x], [Q])
    rates = casadi.Function("rates", [x], [casadi.jacobian(Q[k, :], x) for k in range(3)])
    print(f"Q, Q', Q'' of {model.name}: {torques.n_instructions()} operations")

    values = np.random.default_rng(4).uniform(-1.0, 1.0, (5, model.n))
    expected = np.stack(dyn.inverse_dynamics(model, *values))
    off = np.abs(np.array(torques(values)) - expected).max()
    print(f"Q, Q', Q'' differ by {off:.1e}")

    # columns of x are joints: entry 5 i + k belongs to the k-th derivative of q_i
    first, _, second = (np.array(each).reshape(-1, model.n, 5) for each in rates(values))
    analytic = dyn.inverse_dynamics_derivatives(model, *values[:3])
    off = max(np.abs(first[..., k] - analytic[k]).max() for k in range(3))
    print(f"dQ/dq, dQ/dq', dQ/dq'' differ by {off:.1e}")
    off = np.abs(second[..., 4] - dyn.mass_matrix(model, values[0])).max()
    print(f"dQ''/dq'''' and the mass matrix differ by {off:.1e}")

    if options.code:
        options.code.parent.mkdir(parents=True, exist_ok=True)
        code = casadi.CodeGenerator(options.code.name)
        code.add(torques)
        code.generate(f"{options.code.parent}/")
        print(f"wrote {options.code}")


if __name__ == "__main__":
    main()
