# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of Q, Q' and Q'' by JAX: the recursion under jit, grad and vmap.

    python examples/19_jax.py

XLA compiles the recursion as straight-line code: seconds for two joints, minutes for seven. JAX
computes with 32 bits until 64 are switched on.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory

ROBOT = share_directory() / "config" / "robots" / "planar_two_link.urdf"


def main(arguments: list[str] | None = None) -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args(arguments)
    jax.config.update("jax_enable_x64", True)
    model = dyn.load_urdf(ROBOT)

    def torques(state: jax.Array) -> jax.Array:
        """Q, Q', Q'' (3, n) from q, q', ..., q'''' (5, n)."""
        rows = dyn.generic_inverse_dynamics(model, *state, sin=jnp.sin, cos=jnp.cos)
        return jnp.array(rows.tolist())

    states = np.random.default_rng(4).uniform(-1.0, 1.0, (1000, 5, model.n))
    state = jnp.asarray(states[0])

    fast = jax.jit(jax.vmap(torques))(states)
    expected = np.stack(dyn.inverse_dynamics(model, *states.transpose(1, 0, 2)), axis=1)
    print(f"Q, Q', Q'' of {len(states)} states differ by {np.abs(fast - expected).max():.1e}")

    by_state = jax.jit(jax.jacfwd(torques))(state)  # (3, n, 5, n)
    analytic = dyn.inverse_dynamics_derivatives(model, *state[:3])
    off = max(np.abs(by_state[0, :, k] - analytic[k]).max() for k in range(3))
    print(f"dQ/dq, dQ/dq', dQ/dq'' differ by {off:.1e}")

    # Q'' is linear in the jounce, with the mass matrix: d Q''/d q'''' = M(q)
    off = np.abs(by_state[2, :, 4] - dyn.mass_matrix(model, state[0])).max()
    print(f"dQ''/dq'''' and the mass matrix differ by {off:.1e}")

    effort = jax.grad(lambda s: jnp.sum(torques(s)[2] ** 2) / 2)(state)
    print(f"gradient of |Q''|^2 / 2 by the jerk: {np.array(effort[3])}")


if __name__ == "__main__":
    main()
