# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Compilation of the recursions by Numba, from the same source that runs uncompiled.

``inlined`` marks a small function that compiled code may call; it remains a plain Python function.
``compiled`` returns the machine code of a recursion, which is cached on disk for the next start.

Numba's own cache looks only at the file of the recursion: it would serve stale machine code after a
helper elsewhere was edited, and recompile after a docstring was reworded. Here the cache folder is
named after a hash of all statements of this library (docstrings and comments are left out), of the
Numba version and of the processor. Inside the folder, a function is found by its module and
name, regardless of dates and line numbers. A damaged file counts as missing.
"""

from __future__ import annotations

import ast
import hashlib
import os
import pickle
import re
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType
from typing import Any, TextIO

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]
try:
    import numba
    from llvmlite import binding as llvm
    from numba.core import caching, event
    from numba.extending import register_jitable
except ImportError:
    numba = None

CACHE_VARIABLE = "MULTIBODY_DYNAMICS_CACHE_DIR"
# Attributes of bytecode that depend on where in its file a statement is, and methods
_PLACES = {"co_filename", "co_firstlineno", "co_linetable", "co_lnotab", "co_lines", "co_positions"}
# Fused multiply-add is the only fast-math option. Functions that are inlined have the same options,
# or they would have those of the function that happens to call them first in a process.
OPTIONS = {"fastmath": {"contract"}, "error_model": "numpy"}
# Every operation is rounded, as by a C compiler: generated C has the same results, bit for bit.
EXACT_OPTIONS = OPTIONS | {"fastmath": False}
DIGITS = 24  # of the hash that names the folder
CHECKSUM = hashlib.sha256().digest_size  # bytes at the beginning of every file of the cache
_LIBRARY = __name__.rsplit(".", 2)[0]  # multibody_dynamics.dynamics
MACHINE_CODE: dict[tuple[str, str], Callable[..., Any]] = {}  # by module and qualified name


def source_digest(folder: Path) -> str:
    """Hash of the statements of all Python files below `folder`, of the Numba version and of the
    processor. Docstrings and comments do not count."""
    return _digest(folder, _statements)


def _digest(folder: Path, read: Callable[[bytes], bytes]) -> str:
    digest = hashlib.sha256()
    for source in sorted(folder.rglob("*.py")):
        digest.update(source.relative_to(folder).as_posix().encode())
        digest.update(read(source.read_bytes()))
    digest.update(numba.__version__.encode())
    digest.update(llvm.get_host_cpu_name().encode())
    digest.update(llvm.get_host_cpu_features().flatten().encode())
    return digest.hexdigest()[:DIGITS]


def _statements(source: bytes) -> bytes:
    """The bytecode of a module, without docstrings, comments and line numbers; for Python 3.13 and
    newer, whose bytecode contains line numbers of classes, its syntax tree, which takes longer."""
    if sys.version_info >= (3, 13):
        return _syntax_tree(source)
    # Python omits docstrings together with assertions, which are therefore made assignments.
    kept = re.sub(rb"(?m)^(\s*)assert\b", rb"\1_ =", source)
    return repr(_content(compile(kept, "", "exec", dont_inherit=True, optimize=2))).encode()


def _content(constant: object) -> object:
    """What `repr` shows completely, and equally in all processes."""
    if isinstance(constant, frozenset):
        return sorted(map(repr, constant))
    if isinstance(constant, tuple):
        return [_content(each) for each in constant]
    if not isinstance(constant, CodeType):
        return constant
    names = (name for name in dir(constant) if name.startswith("co_") and name not in _PLACES)
    return [_content(getattr(constant, name)) for name in names]


def _syntax_tree(source: bytes) -> bytes:
    """The syntax tree of a module, without docstrings, comments and line numbers."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            del node.body[0]
    return ast.dump(tree).encode()


def _remembered_digest(base: Path, folder: Path) -> str:
    """`source_digest`, stored below `base` under a hash of the bytes: parsing takes 0.5 s."""
    note = base / "sources" / _digest(folder, bytes)
    with suppress(OSError, UnicodeError):
        known = note.read_text(encoding="ascii")
        if len(known) == DIGITS:  # not cut by a full disk or a power cut
            return known
    digest = source_digest(folder)
    with suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = note.with_suffix(f".{os.getpid()}")
        unfinished.write_text(digest, encoding="ascii")
        unfinished.replace(note)
    return digest


def cache_directory() -> Path | None:
    """The folder for the machine code; None, which disables caching, if no folder is writable.

    It lies below $MULTIBODY_DYNAMICS_CACHE_DIR, else $NUMBA_CACHE_DIR, else the user's cache
    folder; if that is not writable, or not by the user alone, below the temporary directory.
    """
    variables = (CACHE_VARIABLE, "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    chosen = next(filter(None, map(os.environ.get, variables)), None)
    bases = []
    with suppress(RuntimeError):  # without HOME, a user may have no home folder at all
        bases.append(Path(chosen or Path.home() / ".cache") / "multibody_dynamics")
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    fallback = Path(tempfile.gettempdir()) / f"multibody_dynamics-{user}"
    sources = Path(__file__).parents[1]
    for base in (*bases, fallback):
        try:
            base.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not _is_private(base, user):
                if base is not fallback:
                    text = f"{base}: other users can write to it, or own it; not used"
                    warnings.warn(text, RuntimeWarning, stacklevel=2)
                continue
            folder = base / _remembered_digest(base, sources)
            folder.mkdir(exist_ok=True, mode=0o700)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None


def _is_private(folder: Path, user: int | str) -> bool:
    """Whether nobody else can write to a folder, and so decide which machine code runs here."""
    status = folder.stat()
    return os.name != "posix" or (status.st_uid == user and not status.st_mode & 0o022)


if numba is None:
    warnings.warn(
        "Numba is not installed: the dynamics run in plain Python, correct but about a hundred "
        "times slower, too slow for a control cycle. Install it with 'pip install numba'.",
        RuntimeWarning,
        stacklevel=2,
    )

    IS_COMPILED = False
else:
    IS_COMPILED = not numba.config.DISABLE_JIT

_CACHE = cache_directory() if IS_COMPILED else None

if IS_COMPILED:
    from .inlined_code import CompleteCompiler, InlinedCompiler


def _with_checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).digest() + content


def _checked_content(path: str) -> bytes | None:
    """The content without its checksum; None if the file is missing or damaged."""
    try:
        read = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        _warn(f"{path}: cannot be read: {error.strerror}; compiling instead")
        return None
    checksum, content = read[:CHECKSUM], read[CHECKSUM:]
    if hashlib.sha256(content).digest() != checksum:
        _warn(f"{path}: damaged; compiling instead, and writing the file again")
        return None
    return content


def load_machine_code(name: str) -> bytes | None:
    """The file `name` of the cache; None if it is missing or damaged, or if there is no cache."""
    return _checked_content(str(_CACHE / name)) if _CACHE else None


def store_machine_code(name: str, content: bytes) -> None:
    """Write the file `name` of the cache, under a temporary name first; warns if it cannot."""
    if not _CACHE:
        return
    file = _CACHE / name
    unfinished = file.with_name(f"{name}.{os.getpid()}.{threading.get_ident()}")
    try:
        unfinished.write_bytes(_with_checksum(content))
        unfinished.replace(file)
    except OSError as error:
        _warn(f"{name} cannot be cached in {_CACHE}: {error.strerror}")
        with suppress(OSError):
            unfinished.unlink()


def cached_files(pattern: str) -> list[Path]:
    """The files of the cache whose names match `pattern`, the newest first."""
    found = []
    for file in _CACHE.glob(pattern) if _CACHE else ():
        with suppress(OSError):  # another process may remove it
            found.append((file.stat().st_mtime, file))
    return [file for _, file in sorted(found, reverse=True)]


if IS_COMPILED:

    class _OneFolder:
        """Cache locator for Numba: one folder, files named by module and function, no dates."""

        def __init__(self, function: Callable[..., Any]) -> None:
            self._module = function.__module__

        @classmethod
        def from_function(cls, function: Callable[..., Any], _file: str) -> _OneFolder:
            return cls(function)

        def get_cache_path(self) -> str:
            return str(_CACHE)

        def ensure_cache_path(self) -> None:
            Path(str(_CACHE)).mkdir(parents=True, exist_ok=True, mode=0o700)

        def get_source_stamp(self) -> str:
            return ""

        def get_disambiguator(self) -> str:
            return self._module

    class _Placement(caching.CompileResultCacheImpl):
        _locator_classes = (_OneFolder,)

    class _CheckedFiles(caching.IndexDataCacheFile):
        """Files with a checksum: a full disk or a power cut may leave empty, cut or garbled ones,
        and damaged machine code would crash. They count as missing, and are written again.

        Processes that compile at the same time write one after the other: both would otherwise
        choose the same file for different signatures, and the index would lead to the wrong code.
        """

        def save(self, key: Any, data: Any) -> None:
            with Path(self._index_path).with_name("lock").open("a") as lock:
                if fcntl:
                    fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed
                super().save(key, data)

        def _load_index(self) -> dict[Any, str]:
            content = _checked_content(self._index_path)
            if content is None:
                return {}
            stamp, overloads = pickle.loads(content)
            return overloads if stamp == [self._version, self._source_stamp] else {}

        def _save_index(self, overloads: dict[Any, str]) -> None:
            stamp = [self._version, self._source_stamp]
            self._write(self._index_path, self._dump((stamp, overloads)))

        def _load_data(self, name: str) -> Any:
            content = _checked_content(self._data_path(name))
            if content is None:
                raise OSError(f"{name} is missing or damaged")  # `load` then finds nothing
            return pickle.loads(content)

        def _save_data(self, name: str, data: Any) -> None:
            self._write(self._data_path(name), self._dump(data))

        def _write(self, path: str, content: bytes) -> None:
            with self._open_for_write(path) as file:  # a temporary file, renamed at the end
                file.write(_with_checksum(content))

    class _FunctionCache(caching.FunctionCache):
        _impl_class = _Placement

        def __init__(self, function: Callable[..., Any]) -> None:
            super().__init__(function)
            self._cache_file = _CheckedFiles(
                self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
            )

        def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
            """Without Numba's hash of pickled closures, which differs between processes: a second
            start would compile again. Name and folder determine what a function closes over."""
            return sig, codegen.magic_tuple()

        def save_overload(self, sig: Any, data: Any) -> None:
            try:
                super().save_overload(sig, data)
            except OSError as error:
                _warn(
                    f"machine code cannot be cached in {self._cache_path}: {error.strerror}; the "
                    f"next start compiles again"
                )


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def inlined(function: Callable[..., Any], *, uncounted: bool = False) -> Callable[..., Any]:
    """Mark `function` as callable from compiled code, and return it unchanged.

    uncounted : for a function that neither makes nor returns arrays, and is called with many of
        them: do not count references to them, here and in the functions that it calls, and copy it
        into every caller. Otherwise, such a call takes 0.1 us.
    """
    return _inlined(function, OPTIONS | ({"forceinline": True, "_nrt": False} if uncounted else {}))


def inlined_exactly(function: Callable[..., Any]) -> Callable[..., Any]:
    """As :func:`inlined`, for code that generated C repeats bit for bit: without operations that
    are fused and rounded once."""
    return _inlined(function, EXACT_OPTIONS)


def _inlined(function: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    if not IS_COMPILED:
        return function
    return register_jitable(pipeline_class=InlinedCompiler, no_cfunc_wrapper=True, **options)(
        function
    )


@inlined
def copy_row(target, source):
    """Copy the numbers of a vector to the beginning of another one, in compiled code.

    `target[:] = source` would also compile its error message for other shapes, which takes five
    seconds of the first start."""
    for k in range(source.shape[0]):
        target[k] = source[k]


def compiled(function: Callable[..., Any], variant: str = "") -> Callable[..., Any]:
    """The machine code of a recursion.

    Functions made by one factory each need their own `variant`: Numba files machine code by name,
    and two processes that compile at the same time would pick up each other's.
    """
    if IS_COMPILED and variant:
        function.__qualname__ = f"{function.__qualname__}.{variant}"
    return _compiled(function, OPTIONS)


def compiled_exactly(function: Callable[..., Any]) -> Callable[..., Any]:
    """As :func:`compiled`, with every operation rounded; see :func:`inlined_exactly`."""
    return _compiled(function, EXACT_OPTIONS)


def _compiled(function: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    name = function.__module__, function.__qualname__
    MACHINE_CODE[name] = function
    if not IS_COMPILED:
        return function
    machine_code = numba.njit(pipeline_class=CompleteCompiler, **options)(function)
    # The name of the folder covers the sources of this library only.
    if _CACHE and function.__module__.startswith(f"{_LIBRARY}."):
        machine_code._cache = _FunctionCache(function)
    MACHINE_CODE[name] = machine_code
    return machine_code


if IS_COMPILED:

    class _Watch(event.Listener):
        """Calls `begin` and `end` around each compilation, `end` with the time that it took, s.

        Numba reports only what is really compiled, not what is loaded from disk. A function that
        another one calls is compiled within it, and counts once. `package` : watch only its modules
        """

        def __init__(
            self,
            begin: Callable[[], object],
            end: Callable[[float], object],
            package: str = "",
        ) -> None:
            self._begin, self._end, self._package = begin, end, package
            self._started: list[float] = []

        def on_start(self, event: Any) -> None:
            if self._is_watched(event):
                if not self._started:
                    self._begin()
                self._started.append(time.monotonic())

        def on_end(self, event: Any) -> None:
            if self._is_watched(event) and self._started:
                begin = self._started.pop()
                if not self._started:
                    self._end(time.monotonic() - begin)

        def _is_watched(self, event: Any) -> bool:
            return str(event.data["dispatcher"].py_func.__module__).startswith(self._package)


_reporters = 0  # contexts of `when_compiling` that are open


def _starting() -> str:
    kept = f"cached in {_CACHE} for the next start" if _CACHE else "not cached"
    return f"compiling the dynamics for this processor, {kept} ..."


@contextmanager
def when_compiling(
    tell: Callable[[str], object], check: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Call `tell` once if the code inside must be compiled first, which can take a minute, and
    again with the time that this took.

    `check` is called repeatedly while compiling; raising from it ends the compilation. It should
    raise a BaseException that is not an Exception, which the compiler might handle as its own.
    """
    global _reporters
    if not IS_COMPILED:
        yield
        return
    times: list[float] = []

    class Steps(event.Listener):
        """Listens to compiler passes, which do not run for machine code loaded from disk."""

        def __init__(self) -> None:
            self.reported = False

        def on_start(self, event: Any) -> None:
            if not self.reported:
                self.reported = True
                tell(_starting())
            check()

        def on_end(self, event: Any) -> None:
            """Nothing to report on completion of a single pass."""

    watch = _Watch(lambda: None, times.append)
    _reporters += 1
    try:
        with (
            event.install_listener("numba:run_pass", Steps()),
            event.install_listener("numba:compile", watch),
        ):
            yield
    finally:
        _reporters -= 1
    if times:
        tell(f"compiling took {sum(times):.0f} s")


def announce_compilation(stream: TextIO, longer_than: float = 1.0) -> None:
    """Write a line to `stream` when the first function of the library is compiled, and one for each
    that takes longer than `longer_than` s. Commands and nodes use `when_compiling` instead."""
    if not IS_COMPILED:
        return
    announced: list[str] = []

    def say(text: str) -> None:
        with suppress(OSError, ValueError):  # the stream may have been closed
            print(f"multibody_dynamics: {text}", file=stream, flush=True)

    def begin() -> None:
        if not (_reporters or announced):
            announced.append(_starting())
            say(announced[0])

    def end(seconds: float) -> None:
        if not _reporters and seconds > longer_than:
            say(f"compiling took {seconds:.0f} s")

    event.register("numba:compile", _Watch(begin, end, f"{_LIBRARY}."))


if sys.stderr is not None and sys.stderr.isatty():  # somebody is waiting
    announce_compilation(sys.stderr)
