# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The joint covariance of identified parameters.

Standard errors alone overstate what is unknown: base parameters are correlated, and torques are
known much better than the single parameters. `covariance.npz` holds

    names (m,)          base parameters of the links by their description, then "motor MOTOR.KEY" of
                        motors, and "JOINT.KEY" of springs and of the friction of links
    values (m,)         as identified, in SI units, on the link side of the gear
    covariance (m, m)   by noise and, where the recordings do not determine a combination, by the
                        prior; its diagonal holds the squares of the standard errors
    links               the number of base parameters
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...core import Array, InputError, as_real, read_arrays, reading

FILE = "covariance.npz"


@dataclass(frozen=True, eq=False)
class IdentifiedCovariance:
    """names, values (m,) and covariance (m, m) of identified parameters; the first `links` are base
    parameters."""

    names: tuple[str, ...]
    values: Array
    covariance: Array
    links: int

    def write(self, folder: Path) -> Path:
        """Write `covariance.npz` into a folder, and return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / FILE
        np.savez_compressed(
            file,
            names=np.array(self.names),
            values=self.values,
            covariance=self.covariance,
            links=self.links,
        )
        return file

    @classmethod
    def read(cls, path: Path) -> IdentifiedCovariance:
        """Read a `covariance.npz`, or the one in a folder.

        Raises InputError, naming the file, if its content is something else.
        """
        file = path / FILE if path.is_dir() else path
        content = read_arrays(file)
        with reading(file, "a covariance"):
            names = tuple(str(name) for name in content["names"])
            values, covariance = (as_real(key, content[key]) for key in ("values", "covariance"))
            links = int(content["links"])
        m = len(names)
        if values.shape != (m,) or covariance.shape != (m, m) or not 0 <= links <= m:
            raise InputError(
                f"{file}: {m} names, values {values.shape}, covariance {covariance.shape}, and "
                f"{links} base parameters do not belong together"
            )
        if not (np.isfinite(values).all() and np.isfinite(covariance).all()):
            raise InputError(f"{file}: holds numbers that are not finite")
        return cls(names, values, covariance, links)

    @property
    def errors(self) -> Array:
        """(m,) standard errors."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def draws(self, count: int, seed: int = 0) -> Array:
        """(count, m) values drawn from the normal distribution; equal seeds give equal draws."""
        size = np.where(self.errors > 0.0, self.errors, 1.0)
        moments, axes = np.linalg.eigh(self.covariance / np.outer(size, size))
        root = axes * np.sqrt(np.maximum(moments, 0.0))
        numbers = np.random.default_rng(seed).standard_normal((count, len(size)))
        return np.asarray(self.values + size * (numbers @ root.T))
