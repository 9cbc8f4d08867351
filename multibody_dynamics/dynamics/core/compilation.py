# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Compilation of the recursions by Numba, from the same source that runs uncompiled.

``inlined`` marks a small function that compiled code may call; it remains a plain Python function.
``compiled`` returns the machine code of a recursion, which is cached on disk for the next start.

Numba's own cache looks only at the file of the recursion: it would serve stale machine code after a
helper elsewhere was edited, and recompile after a docstring was reworded. Here the cache folder is
named after a hash of all statements of this library (docstrings and comments are left out), of the
Numba version and of the processor. Inside the folder, a function is found by its module and
name, regardless of dates and line numbers, and by a hash of the statements of all modules that its
own one imports, directly or not: machine code that an edit elsewhere leaves as it was is taken over
from the folder before. A damaged file counts as missing: a full disk or a power cut may leave
empty, cut or garbled ones, and damaged machine code would crash.
"""

import ast
import hashlib
import json
import os
import pickle
import re
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

try:
    import numba
    from llvmlite import binding as llvm
    from numba.core import caching, event
    from numba.core.compiler import CompileResult
    from numba.core.serialize import dumps
    from numba.extending import register_jitable
except ImportError:
    numba = None

CACHE_VARIABLE = "MULTIBODY_DYNAMICS_CACHE_DIR"
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
    """Hash of the statements of all Python files below `folder`, of the versions of Python and
    Numba, and of the processor. Docstrings and comments do not count."""
    return _digest(module_digests(folder).items())


def module_digests(folder: Path) -> dict[str, str]:
    """The hash of all statements that a module below `folder` may use, by its name in `folder`."""
    sources = {_module(file, folder): file.read_bytes() for file in sorted(folder.rglob("*.py"))}
    own = {module: _digest([(module, _statements(source))]) for module, source in sources.items()}
    return {
        module: _digest((each, own[each]) for each in sorted(used))
        for module, used in used_modules(sources).items()
    }


def used_modules(sources: Mapping[str, bytes]) -> dict[str, set[str]]:
    """Each module, and all that it imports, directly or not, by name.

    Whoever imports from a package may use everything in it, since some import on demand.
    """
    imported = {}
    for module, source in sources.items():
        place = [*module.split("."), *([""] if module and _below(module, sources) else [])]
        imported[module] = {
            ".".join(filter(None, [*place[: -len(dots)], name.decode()]))
            for dots, name in re.findall(rb"^\s*from (\.+)([\w.]*) import", source, re.MULTILINE)
            if len(dots) <= len(place)
        }.intersection(sources)
    for package in set().union(*imported.values()):
        imported[package] |= _below(package, sources)
    used = {}
    for module in sources:
        found, new = set(), {module}
        while new:
            found |= new
            new = set().union(*(imported[each] for each in new)) - found
        used[module] = found
    return used


def _below(package: str, modules: Iterable[str]) -> set[str]:
    return {each for each in modules if not package or each.startswith(f"{package}.")}


def _module(file: Path, folder: Path) -> str:
    """The name of a module, from that of `folder` on, which is empty."""
    parts = file.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _digest(parts: Iterable[tuple[str, str | bytes]]) -> str:
    digest = hashlib.sha256()
    for name, content in parts:
        digest.update(name.encode())
        digest.update(content.encode() if isinstance(content, str) else content)
    digest.update(f"{sys.implementation.cache_tag} {numba.__version__}".encode())
    digest.update(llvm.get_host_cpu_name().encode())
    digest.update(llvm.get_host_cpu_features().flatten().encode())
    return digest.hexdigest()[:DIGITS]


def _statements(source: bytes) -> bytes:
    """The syntax tree of a module, without docstrings, comments and line numbers."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            del node.body[0]
    return ast.dump(tree).encode()


def _remembered_digests(base: Path, folder: Path) -> dict[str, str]:
    """`module_digests`, stored below `base` under a hash of the bytes: parsing takes 0.5 s."""
    files = sorted(folder.rglob("*.py"))
    note = base / "sources" / _digest((_module(file, folder), file.read_bytes()) for file in files)
    with suppress(OSError, TypeError, ValueError):  # cut by a full disk or a power cut
        return dict(json.loads(note.read_text(encoding="ascii")))
    digests = module_digests(folder)
    with suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = note.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(digests), encoding="ascii")
        unfinished.replace(note)
    return digests


def cache_directory() -> Path | None:
    """The folder for the machine code; None, which disables caching, if no folder is writable.

    It lies below $MULTIBODY_DYNAMICS_CACHE_DIR, else $NUMBA_CACHE_DIR, else the user's cache
    folder; if that is not writable, or not by the user alone, below the temporary directory.
    """
    return _cache()[0]


def _cache() -> tuple[Path | None, dict[str, str]]:
    """`cache_directory`, and `module_digests` of this library, by complete names."""
    variables = (CACHE_VARIABLE, "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    chosen = next(filter(None, map(os.environ.get, variables)), None)
    bases, fallback = [], None
    with suppress(RuntimeError):  # without HOME, a user may have no home folder at all
        bases.append(Path(chosen or Path.home() / ".cache") / "multibody_dynamics")
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    with suppress(FileNotFoundError):  # nor a temporary folder that can be written
        bases.append(fallback := Path(tempfile.gettempdir()) / f"multibody_dynamics-{user}")
    sources = Path(__file__).parents[1]
    for base in bases:
        try:
            base.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not _is_private(base, user):
                if base is not fallback:
                    text = f"{base}: other users can write to it, or own it; not used"
                    warnings.warn(text, RuntimeWarning, stacklevel=2)
                continue
            digests = _remembered_digests(base, sources)
            folder = base / _digest(digests.items())
            folder.mkdir(exist_ok=True, mode=0o700)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder, {f"{_LIBRARY}.{name}": each for name, each in digests.items()}
    return None, {}


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

_CACHE, _DIGESTS = _cache() if IS_COMPILED else (None, {})

if IS_COMPILED:
    from .inlined_code import CompleteCompiler, InlinedCompiler


def load_machine_code(name: str) -> bytes | None:
    """The file `name` of the cache; None if it is missing or damaged, or if there is no cache."""
    if not _CACHE:
        return None
    file = _CACHE / name
    try:
        read = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        _warn(f"{file}: cannot be read: {error.strerror}; compiling instead")
        return None
    content = read[CHECKSUM:]
    if hashlib.sha256(content).digest() != read[:CHECKSUM]:
        _warn(f"{file}: damaged; compiling instead, and writing the file again")
        return None
    return content


def _take_over(name: str) -> None:
    """Link the file `name` of the folder of another version into the cache: what its name says of
    its sources is the same."""
    if _CACHE and not (_CACHE / name).exists():
        for file in _CACHE.parent.glob(f"*/{name}"):
            with suppress(OSError):
                os.link(file, _CACHE / name)
                return


def store_machine_code(name: str, content: bytes) -> None:
    """Write the file `name` of the cache, under a temporary name first; warns if it cannot."""
    if not _CACHE:
        return
    file = _CACHE / name
    unfinished = file.with_name(f"{name}.{os.getpid()}.{threading.get_ident()}")
    try:
        unfinished.write_bytes(hashlib.sha256(content).digest() + content)
        unfinished.replace(file)
    except OSError as error:
        _warn(
            f"{name} cannot be cached in {_CACHE}: {error.strerror}; the next start does the same "
            f"work again"
        )
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

    class _Files(caching.NullCache):
        """Numba's cache of one function: one file for each type of its arguments.

        Each file is complete or counts as missing, so that processes that compile at the same time
        need not wait for each other. Numba's own index also hashes pickled closures, which differ
        between processes: a second start would compile again. Name and folder determine what a
        function closes over.
        """

        def __init__(self, function: Callable[..., Any], modules: set[str]) -> None:
            self._name = f"{function.__module__}.{function.__qualname__}"
            self._sources = [_DIGESTS[module] for module in sorted(modules)]

        def _file(self, sig: Any, codegen: Any) -> str:
            key = repr((sig, codegen.magic_tuple(), self._sources)).encode()
            return f"{self._name}-{hashlib.sha256(key).hexdigest()[:DIGITS]}.nbc"

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            target_context.refresh()
            file = self._file(sig, target_context.codegen())
            _take_over(file)
            content = load_machine_code(file)
            return content and CompileResult._rebuild(target_context, *pickle.loads(content))

        def save_overload(self, sig: Any, cres: Any) -> None:
            if not cres.library.has_dynamic_globals:  # addresses in this process
                store_machine_code(self._file(sig, cres.codegen), dumps(cres._reduce()))


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
    are fused and rounded once. References to arrays are not counted: where records of them are
    handed on, that takes several times as long as the function itself."""
    return _inlined(function, EXACT_OPTIONS | {"_nrt": False})


def inlined_with_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """As :func:`inlined_exactly`, for a function with arrays of its own."""
    return _inlined(function, EXACT_OPTIONS | {"_nrt": True})


def _name_apart(function: Callable[..., Any]) -> None:
    """Name a closure after what it closes over.

    Numba names machine code after the function, with a number that counts functions in a process.
    Two closures of one factory, compiled by two processes, may thus have the same name, and
    whichever comes first from the cache would run in place of the other.
    """
    if function.__closure__:
        contents = (cell.cell_contents for cell in function.__closure__)
        names = [
            f"{each.__module__}.{each.__qualname__}" if callable(each) else repr(each)
            for each in contents
        ]
        suffix = "." + hashlib.sha256(repr(names).encode()).hexdigest()[:8]
        if not function.__qualname__.endswith(suffix):
            function.__qualname__ += suffix


def modules_of(function: Callable[..., Any]) -> set[str]:
    """The modules of a function and of the functions that it closes over."""
    function = getattr(function, "py_func", function)
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    return {function.__module__}.union(*(modules_of(each) for each in cells if callable(each)))


def _inlined(function: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    if not IS_COMPILED:
        return function
    _name_apart(function)
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


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The machine code of a recursion."""
    return _compiled(function, OPTIONS)


def compiled_exactly(function: Callable[..., Any]) -> Callable[..., Any]:
    """As :func:`compiled`, with every operation rounded; see :func:`inlined_exactly`."""
    return _compiled(function, EXACT_OPTIONS)


def _compiled(function: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    _name_apart(function)
    name = function.__module__, function.__qualname__
    MACHINE_CODE[name] = function
    if not IS_COMPILED:
        return function
    machine_code = numba.njit(pipeline_class=CompleteCompiler, **options)(function)
    modules = modules_of(function)
    if _CACHE and modules <= _DIGESTS.keys():  # changes elsewhere would go unnoticed
        machine_code._cache = _Files(function, modules)
    MACHINE_CODE[name] = machine_code
    return machine_code


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

    _reporters += 1
    try:
        with (
            event.install_listener("numba:run_pass", Steps()),
            event.install_timer("numba:compile", lambda s: tell(f"compiling took {s:.0f} s")),
        ):
            yield
    finally:
        _reporters -= 1


def announce_compilation(stream: TextIO, longer_than: float = 1.0) -> None:
    """Write a line to `stream` when the first function of the library is compiled, and one for each
    that takes longer than `longer_than` s. Commands and nodes use `when_compiling` instead."""
    if not IS_COMPILED:
        return

    def say(text: str) -> None:
        with suppress(OSError, ValueError):  # the stream may have been closed
            print(f"multibody_dynamics: {text}", file=stream, flush=True)

    class Compilations(event.Listener):
        """Numba reports only what is really compiled, not what is loaded from disk. A function that
        another one calls is compiled within it, and counts once."""

        def __init__(self) -> None:
            self._started: list[float] = []
            self._is_announced = False

        def on_start(self, event: Any) -> None:
            if _is_ours(event):
                if not (_reporters or self._is_announced):
                    self._is_announced = True
                    say(_starting())
                self._started.append(time.monotonic())

        def on_end(self, event: Any) -> None:
            if _is_ours(event) and self._started:
                seconds = time.monotonic() - self._started.pop()
                if not (self._started or _reporters) and seconds > longer_than:
                    say(f"compiling took {seconds:.0f} s")

    event.register("numba:compile", Compilations())


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith(f"{_LIBRARY}.")


if sys.stderr is not None and sys.stderr.isatty():  # somebody is waiting
    announce_compilation(sys.stderr)
