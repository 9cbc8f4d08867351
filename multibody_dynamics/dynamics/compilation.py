"""One source for fast and for exact: the recursions compiled by Numba, or left as they are.

``inlined`` marks a small function that compiled code may call; it stays the plain Python function
that it was. ``compiled`` gives the machine code of a recursion, kept on disk for the next start.

Numba's own cache looks at the file of the recursion alone and would go on serving old machine code
after an edit of a helper elsewhere. So the folder is named by a hash of this package's sources, of
the Numba version and of the processor: an edited helper takes effect, always.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import numba
    from llvmlite import binding as llvm
    from numba.core import event
    from numba.extending import register_jitable
except ImportError:
    numba = None

CACHE_VARIABLE = "MULTIBODY_DYNAMICS_CACHE_DIR"


def source_digest(folder: Path) -> str:
    """Hash of every Python source below `folder`, of the Numba version and of the processor."""
    digest = hashlib.sha256()
    for source in sorted(folder.rglob("*.py")):
        digest.update(source.relative_to(folder).as_posix().encode())
        digest.update(source.read_bytes())
    digest.update(numba.__version__.encode())
    digest.update(llvm.get_host_cpu_name().encode())
    digest.update(llvm.get_host_cpu_features().flatten().encode())
    return digest.hexdigest()[:24]


def cache_directory() -> Path | None:
    """Where machine code is kept: $MULTIBODY_DYNAMICS_CACHE_DIR, $NUMBA_CACHE_DIR, else the user's
    cache folder, or a folder below the temporary one that belongs to the user; None, and no cache,
    where nothing of this can be written."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    chosen = os.environ.get(CACHE_VARIABLE) or os.environ.get("NUMBA_CACHE_DIR")
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    fallback = Path(tempfile.gettempdir()) / f"multibody_dynamics-{user}"
    digest = source_digest(Path(__file__).parent)
    for base in (Path(chosen or home) / "multibody_dynamics", fallback):
        folder = base / digest
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        # Whoever owns the folder decides what code runs here; the temporary one is everybody's.
        is_ours = base is not fallback or base.stat().st_uid == user
        if is_ours and os.access(folder, os.W_OK):
            return folder
    return None


if numba is None:
    warnings.warn(
        "Numba is not installed: the dynamics run in plain Python, correct but some hundred times "
        "slower; not for a control cycle. Install it with 'pip install numba'.",
        RuntimeWarning,
        stacklevel=2,
    )

    IS_COMPILED = False
else:
    IS_COMPILED = not numba.config.DISABLE_JIT

_CACHE = cache_directory() if IS_COMPILED else None


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` itself, which compiled code may call from now on."""
    return register_jitable(function) if IS_COMPILED else function


def compiled(function: Callable[..., Any], variant: str = "") -> Callable[..., Any]:
    """The machine code of a recursion: fused multiply-add allowed, no other liberty taken.

    Functions made by one factory need a `variant` of their own: Numba keeps and numbers machine
    code by name, and two processes that compile at the same time would exchange theirs.
    """
    if not IS_COMPILED:
        return function
    if variant:
        function.__qualname__ = f"{function.__qualname__}.{variant}"
    previous, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(_CACHE or "")
    try:
        return numba.njit(cache=bool(_CACHE), fastmath={"contract"}, error_model="numpy")(function)
    finally:
        numba.config.CACHE_DIR = previous


@contextmanager
def when_compiling(
    tell: Callable[[str], object], check: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Have `tell` say, once, that something inside must be compiled first: it can take a minute.

    check: called again and again meanwhile; what it raises ends the compiling. Let that be no
    Exception: those the compiler may take for its own.
    """
    if not IS_COMPILED:
        yield
        return
    kept = f"kept in {_CACHE} for the next start" if _CACHE else "lost at the end"

    class Steps(event.Listener):
        """Of the compiler, which there are not for what is loaded from disk."""

        def __init__(self) -> None:
            self.told = False

        def on_start(self, event: Any) -> None:
            if not self.told:
                self.told = True
                tell(f"compiling the dynamics for this processor, {kept} ...")
            check()

        def on_end(self, event: Any) -> None:
            """What began was told of."""

    with event.install_listener("numba:run_pass", Steps()):
        yield
