# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How many digits are right? The same recursion with numbers of 40 digits and in float64.

    python examples/06_exact_references.py

generic_inverse_dynamics accepts any numbers with sums, products, sines and cosines: mpmath as here,
complex numbers (derivatives by complex steps), or symbols (generated code).
"""

import argparse

import mpmath
import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory

ROBOT = share_directory() / "config" / "robots" / "panda.urdf"


def main(arguments: list[str] | None = None) -> dict[str, list[float]]:
    """Returns the numbers of correct digits of Q, Q' and Q'', by recursion and by differences."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args(arguments)
    mpmath.mp.dps = 40
    model = dyn.load_urdf(ROBOT)
    state = np.random.default_rng(4).uniform(-1.0, 1.0, (5, model.n))  # q, q', ..., q''''
    same = [[mpmath.mpf(float(x)) for x in row] for row in state]

    exact = dyn.generic_inverse_dynamics(model, *same, sin=mpmath.sin, cos=mpmath.cos)
    fast = dyn.inverse_dynamics(model, *state)
    print(f"Q'' of {model.joint_names[1]}  {exact[2, 1]}")
    print(f"in float64           {fast.tau_ddot[1]:.17g}")

    def torque(t: float) -> np.ndarray:
        """Q at time t of the motion with this state at t = 0; differences of it give rates."""
        powers = t ** np.arange(5) / (1.0, 1.0, 2.0, 6.0, 24.0)
        return dyn.inverse_dynamics(model, *(powers[: 5 - k] @ state[k:] for k in range(3))).tau

    h, w = 1e-5, 3e-4  # near the optimum
    slope = (torque(h) - torque(-h)) / (2.0 * h)
    bend = (torque(w) - 2.0 * torque(0.0) + torque(-w)) / w**2

    digits = {}
    print("correct digits            Q    Q'   Q''")
    for name, rows in {"recursion": fast, "differences": (torque(0.0), slope, bend)}.items():
        digits[name] = [correct_digits(*pair) for pair in zip(rows, exact, strict=True)]
        print(f"{name:<21}" + "".join(f"{number:6.1f}" for number in digits[name]))
    return digits


def correct_digits(value: np.ndarray, exact: np.ndarray) -> float:
    """The number of correct digits, relative to the largest component."""
    return float(-mpmath.log10(max(abs(value - exact)) / max(abs(exact))))


if __name__ == "__main__":
    main()
