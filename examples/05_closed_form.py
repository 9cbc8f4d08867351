# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""M(q) q'' + C(q, q') q' + g(q) = Q: which Coriolis matrix makes M' - 2C skew; energy balance.

    python examples/05_closed_form.py --picture energy.png

[M18d] (84) gives the same C q' as the Christoffel symbols, but with another matrix C.
"""

import argparse

import numpy as np
from scipy.integrate import cumulative_trapezoid, simpson

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory

ROBOT = share_directory() / "config" / "robots" / "panda.urdf"
POINTS = [[0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8], [0.8, 0.6, -0.4, -1.2, 0.5, 2.2, 0.0]]  # rad


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Returns relative defects: of the skew symmetry for each matrix, and of the energy balance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the energies over time")
    options = parser.parse_args(arguments)
    model = dyn.load_urdf(ROBOT)
    motion = dyn.interpolate(model.joint_names, times=[0.0, 1.0], positions=POINTS)

    q, qd, qdd = motion(0.4)[:3]
    tau = dyn.inverse_dynamics(model, q, qd, qdd).tau
    M, M_dot = dyn.mass_matrix(model, q), dyn.rigid.mass_matrix_dot(model, q, qd)
    matrices = {
        "christoffel_symbols": dyn.christoffel_symbols(model, q) @ qd,
        "coriolis_matrix": dyn.coriolis_matrix(model, q, qd),
        "coriolis_matrix_mueller": dyn.theory.coriolis_matrix_mueller(model, q, qd),
    }
    defects = {}
    for name, C in matrices.items():
        # The torques are the same, but passivity-based controllers rely on N = M' - 2C.
        np.testing.assert_allclose(M @ qdd + C @ qd + dyn.gravity_forces(model, q), tau, atol=1e-11)
        N = M_dot - 2.0 * C
        defects[name] = float(np.abs(N + N.T).max() / np.abs(N).max())
        print(f"{name:<24} N + N^T is {defects[name]:7.0e} of N = M' - 2C")

    # The work of the joints equals the gain of kinetic and potential energy.
    times = np.linspace(0.0, 0.7, 1401)
    q, qd, qdd = motion.sample(times).swapaxes(0, 1)[:3]
    power = (dyn.inverse_dynamics(model, q, qd, qdd).tau * qd).sum(axis=1)
    T, U = dyn.rigid.kinetic_energy(model, q, qd), dyn.rigid.potential_energy(model, q)
    work, gain = simpson(power, x=times), (T + U)[-1] - (T + U)[0]
    defects["energy"] = float(abs(work - gain) / abs(gain))
    print(
        f"work {work:.6f} J, gain of energy {gain:.6f} J,"
        f" relative difference {defects['energy']:.0e}"
    )

    if options.picture:
        from matplotlib import pyplot

        figure, axis = pyplot.subplots(figsize=(8, 4), layout="constrained")
        for name, energy in {"T": T, "U": U, "T + U": T + U}.items():
            axis.plot(times, energy - energy[0], label=name)
        done = cumulative_trapezoid(power, times, initial=0.0)
        axis.plot(times[::50], done[::50], "k.", label="work of the joints")
        axis.set(xlabel="time  [s]", ylabel="since the start  [J]")
        axis.grid(color="#DDDDDD")
        axis.legend()
        figure.savefig(options.picture)
    return defects


if __name__ == "__main__":
    main()
