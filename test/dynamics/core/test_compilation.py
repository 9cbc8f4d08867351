# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Compiled and plain code give the same numbers, and the cache on disk is never stale."""

import importlib
import importlib.util
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core import compilation
from multibody_dynamics.dynamics.core.compilation import (
    CACHE_VARIABLE,
    IS_COMPILED,
    _module,
    cache_directory,
    compiled,
    inlined,
    modules_of,
    source_digest,
    used_modules,
    when_compiling,
)
from reference import error
from robots import random_tree, two_link_planar

TESTS = (Path(__file__).resolve().parent, Path(__file__).resolve().parents[2])
PACKAGE = Path(dyn.__file__).resolve().parents[1]


def numbers():
    """Results of all kinds of compiled functions."""
    model = random_tree(6, 1).with_reflected_inertia(np.full(6, 0.1))
    rng = np.random.default_rng(2)
    state, tau = rng.normal(size=(5, 4, model.n)), rng.normal(size=model.n)
    wrenches = {"body1": rng.normal(size=(4, 3, 6))}
    base = dyn.BaseMotion(None, *rng.normal(size=(4, 6)))
    of_each = {}
    for representation in dyn.REPRESENTATIONS:
        choice = {"base": base, "representation": representation}
        motion = dyn.forward_kinematics(model, *state, **choice)
        torques = dyn.inverse_dynamics(model, *state, wrenches=wrenches, **choice)
        solver = dyn.InverseDynamicsSolver(model, representation)
        results = motion._asdict() | torques._asdict() | {"solver": solver(*state[:, 0])}
        of_each |= {f"{representation} {name}": np.array(x) for name, x in results.items()}
    return {
        **of_each,
        "transmitted": dyn.rigid.interbody_wrenches(model, *state, wrenches=wrenches, base=base),
        "mass matrix": dyn.mass_matrix(model, state[0]),
        "forward": dyn.forward_dynamics(model, *state[:2], tau, wrenches=wrenches),
        "one": np.array(dyn.inverse_dynamics(model, *state[:, 1])),
    }


def machine_code():
    """All compiled functions of this package."""
    values = [
        value
        for name, module in sys.modules.items()
        if name.startswith("multibody_dynamics.")
        for value in vars(module).values()
    ]
    for table in [value for value in values if isinstance(value, Mapping)]:
        values += table.values()
    return list({id(x): x for x in values if hasattr(x, "nopython_signatures")}.values())


def cache_statistics():
    """Numbers of compiled functions of this package that were and were not loaded from disk."""
    found = {id(x): x.stats for x in machine_code()}
    hits = sum(sum(stats.cache_hits.values()) for stats in found.values())
    return hits, sum(sum(stats.cache_misses.values()) for stats in found.values())


def python(code, *arguments, first=PACKAGE.parent, **environment):
    """Run `code` in a fresh interpreter, which can import from `first` and from the tests."""
    paths = [str(first), *map(str, TESTS), os.environ.get("PYTHONPATH", "")]
    environment |= {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | environment, cwd=TESTS[0],
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


SAVE = """
import sys, numpy, test_compilation
with test_compilation.when_compiling(lambda text: print(text, file=sys.stderr)):
    numpy.savez(sys.argv[1], **test_compilation.numbers())
print(test_compilation.IS_COMPILED, *test_compilation.cache_statistics())
"""


def test_without_numba_plain_python_gives_the_same_numbers(tmp_path):
    done = python("import sys; sys.modules['numba'] = None" + SAVE, tmp_path / "numbers.npz")
    assert done.stdout.split()[0] == "False"
    assert "RuntimeWarning: Numba is not installed" in done.stderr
    assert "pip install numba" in done.stderr
    with np.load(tmp_path / "numbers.npz") as plain:
        for name, expected in numbers().items():
            assert error(plain[name], expected) < 1e-13, name


def test_a_second_start_compiles_nothing_and_gives_the_same_numbers(tmp_path):
    expected = numbers()
    done = python(SAVE, tmp_path / "numbers.npz")
    assert "compiling" not in done.stderr
    is_compiled, hits, misses = done.stdout.split()
    assert is_compiled == "True"
    assert int(hits) >= 3 * 4 + 2
    assert int(misses) == 0
    with np.load(tmp_path / "numbers.npz") as again:
        for name, value in expected.items():
            np.testing.assert_array_equal(again[name], value)


def test_machine_code_of_several_processes_is_not_mixed_up(tmp_path):
    """Numba numbers the functions of a process: closures of one factory could share a name."""
    start = """
import sys, numpy
from multibody_dynamics import dynamics as dyn
from robots import random_tree
model = random_tree(6, 1)
state = numpy.random.default_rng(2).normal(size=(5, 6))
expected = numpy.array(dyn.inverse_dynamics(model, *state))
for representation in sys.argv[1:]:
    found = dyn.InverseDynamicsSolver(model, representation)(*state)
    numpy.testing.assert_allclose(found, expected, rtol=1e-9)
"""
    for representations in ([], ["body"]):
        python(start, *representations, **{CACHE_VARIABLE: str(tmp_path)})


PRODUCT = '''
"""A compiled function that is small, with a helper of another file."""

from ..core import compiled
from .screws import cross


def _product(a, b):
    """The vector product."""
    return cross(a, b)


product = compiled(_product)
'''
MULTIPLY = """
import json
from multibody_dynamics.dynamics.lie import product
found = product.product((1.0, 2.0, 3.0), (3.0, 5.0, 4.0))
print(json.dumps([found, sum(product.product.stats.cache_hits.values()), product.__file__]))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package with PRODUCT in dynamics/lie/; starts and compiles in a moment."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    dynamics = folder / PACKAGE.name / "dynamics"
    (dynamics / "__init__.py").write_text("")  # imports nothing that is not needed here
    (dynamics / "lie" / "product.py").write_text(PRODUCT)
    return folder


def test_an_edited_helper_takes_effect_and_a_reworded_docstring_compiles_nothing(copy, tmp_path):
    """Numba's own cache looks only at the date of the compiled function's own file."""

    def start():
        done = python(MULTIPLY, first=copy, **{CACHE_VARIABLE: str(tmp_path)})
        product, hits, file = json.loads(done.stdout)
        assert Path(file).is_relative_to(copy)
        return product, hits

    first, hits = start()
    assert first == [-7.0, 5.0, -1.0]
    assert hits == 0
    assert list(tmp_path.glob("multibody_dynamics/*/*.nbc"))
    assert start() == (first, 1)

    def rewrite(file, text):
        """Byte code would be taken for that of the new text, if it is as long and as new."""
        file.write_text(text)
        Path(importlib.util.cache_from_source(file)).unlink(missing_ok=True)

    screws = copy / PACKAGE.name / "dynamics" / "lie" / "screws.py"
    source = screws.read_text()
    assert source.count("a[2] * b[0] - a[0] * b[2]") == 1
    rewrite(screws, source.replace("a[2] * b[0] - a[0] * b[2]", "a[2] * b[0] + a[0] * b[2]"))
    assert start() == ([-7.0, 13.0, -1.0], 0)

    reworded = source.replace('"""', '"""Reworded.\n\n', 1)
    assert reworded != source
    rewrite(screws, "# A comment that moves every line.\n" + reworded)
    assert start() == (first, 1)
    rewrite(screws, source)
    assert start() == (first, 1)  # the machine code of the old text is still cached and correct

    own = screws.with_name("product.py")
    reworded = PRODUCT.replace("The vector", "Reworded.\n\n    The vector")
    assert reworded != PRODUCT  # the docstring of the compiled function itself
    rewrite(own, "# A comment that moves every line.\n" + reworded)
    assert start() == (first, 1)

    elsewhere = screws.parents[1] / "plant" / "sensors.py"
    rewrite(elsewhere, elsewhere.read_text() + "\nNOTHING = 0.0\n")
    assert start() == (first, 1)  # from the folder of the version before


def damaged(content: bytes, how: int) -> bytes:
    """Empty, cut in the middle, or with one bit changed near the end."""
    if how < 2:
        return content[: how * len(content) // 2]
    return content[:-20] + bytes([content[-20] ^ 1]) + content[-19:]


def test_damaged_files_of_the_cache_are_written_again(copy, tmp_path):
    """As a full disk or a power cut leaves them."""

    def start():
        done = python(MULTIPLY, first=copy, **{CACHE_VARIABLE: str(tmp_path)})
        return json.loads(done.stdout)[:2], done.stderr

    (first, _), _ = start()
    for how in range(3):
        (path,) = tmp_path.rglob("*.nbc")
        path.write_bytes(damaged(path.read_bytes(), how))
        (digest,) = (tmp_path / "multibody_dynamics" / "sources").iterdir()
        digest.write_bytes(b"")
        again, said = start()
        assert again == [first, 0]
        assert f"RuntimeWarning: {path}: damaged; compiling instead" in said
    third, said = start()
    assert third == [first, 1]
    assert "Warning" not in said


@pytest.mark.parametrize("size", [1000, 0])
def test_a_full_disk_costs_only_the_cache(copy, tmp_path, size):
    """Even if nothing at all can be written, as Python's search for a temporary folder does."""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
    done = python(limited + MULTIPLY, first=copy, **{CACHE_VARIABLE: str(tmp_path)})
    product, hits, _ = json.loads(done.stdout)
    assert hits == 0
    assert product == [-7.0, 5.0, -1.0]
    assert "cannot be cached" in done.stderr
    assert not list(tmp_path.rglob("*.nbc"))


def test_inlining_leaves_the_function_itself_unchanged():
    def triple(x):
        return 3 * x

    assert inlined(triple) is triple
    assert compiled(lambda x: triple(x) + 1)(2.0) == 7.0


def calls_with_arrays_of_all_kinds():
    """Where the arrays of a compiled function come from several places, and from the user."""
    arm, rng = two_link_planar(0.4, 0.3), np.random.default_rng(3)
    actuators = dyn.Actuators(
        arm.joint_names,
        [dyn.elastic.SeriesElastic(dyn.elastic.Motor(0.1), dyn.elastic.LinearSpring(100.0))] * 2,
    )
    robot = dyn.plant.ElasticRobot(arm, actuators)
    stack = dyn.identification.RegressorStack(arm)
    motion, weights = rng.normal(size=(3, 3, 2)), rng.normal(size=(3, 2, 20))
    torque, q, b = np.zeros(2), rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    for is_writable in (True, False):
        for array in (motion, weights, torque, q, b):
            array.flags.writeable = is_writable
        robot.step(torque, 1e-3)
        stack.gradient(motion, weights)
        stack.regressors(motion)
        dyn.rigid.articulated_bodies(arm, q).solve(b)
        dyn.rigid.articulated_bodies(arm, q[0]).solve(b)
    body = dyn.spatial_inertia(1.0, (0, 0, 0), np.zeros((3, 3)))  # on the axis
    point = dyn.model_from_screws([-1], [dyn.revolute((0, 0, 1))], [np.eye(4)], [body])
    with pytest.raises(dyn.DynamicsError, match="singular"):
        dyn.rigid.articulated_bodies(point, [0.0])
    for specialise in (True, False):
        solver = dyn.InverseDynamicsSolver(arm, specialise=specialise)
        solver.wait()
        for base in (None, dyn.BaseMotion(None, *rng.normal(size=(4, 6)))):
            solver.set_base(base)
            solver(*rng.normal(size=(5, 2)))
    system = dyn.integration.examples.three_bar_linkage()
    system.matrices(system.initial_pose, system.initial_velocity)
    for method in ("rk4", "dormand_prince"):
        dyn.integration.integrate(system, 2e-3, 1e-3, method)
    dyn.integration.integrate(system, 2e-3, 1e-3, wrenches=lambda t, C, V: np.zeros((2, 6)))


def kind_of(numba_type):
    """A type of Numba, without the property to be read-only."""
    if hasattr(numba_type, "types"):  # of tuples
        return tuple(map(kind_of, numba_type.types))
    return str(numba_type).replace("readonly ", "")


def repeated_machine_code():
    """Functions with several kinds of machine code that differ in read-only arrays alone."""
    for code in machine_code():
        kinds = [tuple(map(kind_of, each.args)) for each in code.nopython_signatures]
        if len(set(kinds)) < len(kinds):
            yield f"{code.py_func.__module__} {code.py_func.__qualname__}"


def test_read_only_arrays_compile_nothing_again():
    """Numba would compile the same code once more for them."""
    done = python(
        "import test_compilation as t; t.calls_with_arrays_of_all_kinds()\n"
        "print(len(t.machine_code()), *t.repeated_machine_code(), sep=chr(10))"
    )
    count, *repeated = done.stdout.splitlines()
    assert int(count) > 12
    assert repeated == []


def test_compiled_functions_run_as_machine_code():
    assert IS_COMPILED

    def is_tuple_of_two(x):
        return (x, x)

    fast = compiled(is_tuple_of_two)
    assert fast is not is_tuple_of_two
    fast(1.0)
    assert fast.nopython_signatures


def test_compilation_is_reported_once_with_the_time_it_took(tmp_path, monkeypatch):
    monkeypatch.setattr(compilation, "_CACHE", tmp_path)
    reports: list[str] = []
    with when_compiling(reports.append):
        assert compiled(lambda x: x + 1.0)(1.0) == 2.0
        assert compiled(lambda x: x + 2.0)(1.0) == 3.0
        assert len(reports) == 1
    assert str(tmp_path) in reports[0]
    assert re.fullmatch(r"compiling took \d+ s", reports[1])
    again = compiled(lambda x: x + 3.0)
    again(1.0)
    with when_compiling(reports.append):
        again(1.0)
    assert len(reports) == 2


ANNOUNCE = """
import sys
from multibody_dynamics.dynamics.core import compilation

def doubled(x):
    return 2.0 * x

def ours():
    doubled.__module__ = "multibody_dynamics.dynamics.example"
    assert compilation.compiled(doubled)(1.0) == 2.0

compilation.announce_compilation(sys.stderr, longer_than=0.0)
compilation.numba.njit(lambda x: x)(1.0)  # somebody else's
if sys.argv[1] == "quietly":
    with compilation.when_compiling(lambda text: None):
        ours()
else:
    ours()
"""


@pytest.mark.parametrize("how", ["aloud", "quietly"])
def test_compilation_is_announced_on_a_terminal_unless_somebody_reports_it(tmp_path, how):
    done = python(ANNOUNCE, how, MULTIBODY_DYNAMICS_CACHE_DIR=str(tmp_path))
    lines = done.stderr.splitlines()
    if how == "quietly":
        assert lines == []
    else:
        first, second = lines
        assert first.startswith("multibody_dynamics: compiling the dynamics")
        assert re.fullmatch(r"multibody_dynamics: compiling took \d+ s", second)


def test_an_exception_of_the_check_ends_the_compilation():
    class Enough(BaseException):
        pass

    steps = []

    def check() -> None:
        steps.append(1)
        if len(steps) == 3:
            raise Enough

    with pytest.raises(Enough), when_compiling(lambda text: None, check):
        compiled(lambda x: x + 4.0)(1.0)
    assert len(steps) == 3
    assert compiled(lambda x: x + 5.0)(1.0) == 6.0  # the compiler still works


def test_division_and_nan_follow_ieee():
    """Fused operations are allowed, but none that hides NaN or turns 1/0 into an error."""

    def quotient(a, b):
        return a / b, a - a == 0.0

    fast = compiled(quotient)
    assert fast(1.0, 0.0) == (np.inf, True)
    assert np.isnan(fast(0.0, 0.0)[0])
    assert fast(np.nan, 1.0)[1] is False


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "sources"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.py").write_text("x = 1\n")
    (folder / "deep" / "b.py").write_text("y = 2\n")
    return folder


def test_the_digest_changes_with_edited_renamed_and_new_files(sources):
    seen = {source_digest(sources)}

    def changed():
        digest = source_digest(sources)
        assert digest not in seen
        seen.add(digest)

    (sources / "a.py").write_text("x = 3\n")
    changed()
    (sources / "deep" / "b.py").write_text("y = 4\n")
    changed()
    (sources / "a.py").rename(sources / "c.py")
    changed()
    (sources / "new.py").write_text("")
    changed()


@pytest.fixture(scope="module")
def every_module():
    """Import all modules, and with them all compiled functions."""
    for room in pkgutil.walk_packages(dyn.__path__, f"{dyn.__name__}."):
        importlib.import_module(room.name)


def test_a_module_uses_what_it_imports_and_all_of_a_package():
    """By names relative to modules and packages; also where it is imported on demand."""
    used = used_modules(
        {
            "": b"from . import a",
            "a": b"def __getattr__(name): ...",
            "a.one": b"from .two import (\n    x,\n)\nfrom ... import version",
            "a.two": b"from ...outside import y\nimport numpy",
            "b": b"from .one import z",
            "b.one": b"def late():\n    from ..a import one",
            "b.two": b"from ..a.one import x",
            "b.three": b"from .. import anything",
        }
    )
    assert used["a.two"] == {"a.two"}
    assert used["a.one"] == {"a.one", "a.two"}
    assert used["b.two"] == {"b.two", "a.one", "a.two"}
    assert used["b.one"] == {"b.one", "a", "a.one", "a.two"}
    assert used["b"] == {"b", *used["b.one"]}
    assert used["b.three"] == used.keys()


def contained(function):
    """The functions of this package that the machine code of a function may contain."""
    found, new = set(), {function}
    while new:
        found |= new
        values = []
        for each in new:
            values += [cell.cell_contents for cell in each.__closure__ or ()]
            codes = [each.__code__]
            for code in codes:
                codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
                used = [each.__globals__.get(name) for name in code.co_names]
                modules = [value for value in used if isinstance(value, ModuleType)]
                values += used + [vars(x).get(name) for x in modules for name in code.co_names]
        values = [getattr(value, "py_func", value) for value in values]
        functions = {value for value in values if isinstance(value, FunctionType)}
        new = {x for x in functions if x.__module__.startswith(f"{dyn.__name__}.")} - found
    return found


def test_the_key_covers_all_modules_whose_functions_machine_code_contains(every_module):
    """Of functions that are cached."""
    folder, own = PACKAGE / "dynamics", f"{dyn.__name__}."
    used = used_modules({_module(x, folder): x.read_bytes() for x in folder.rglob("*.py")})
    number = 0
    for machine_code in compilation.MACHINE_CODE.values():
        if isinstance(machine_code._cache, compilation._Files):
            function = machine_code.py_func
            covered = set().union(*(used[x.removeprefix(own)] for x in modules_of(function)))
            modules = {each.__module__.removeprefix(own) for each in contained(function)}
            assert modules <= covered, function
            number += len(modules - {function.__module__.removeprefix(own)})
    assert number > 100


STATEMENTS = (
    "x = 1", "x = 2", "x = 1.0", "x = -0.0", "x = 0.0", "y = 1", "x = y = 1",
    "def f(a):\n    return a", "def f(b):\n    return b", "def f(a, /):\n    return a",
    "def f(a):\n    assert a\n    return a", "def f(a):\n    assert not a, 'x'\n    return a",
    "def f(a=1):\n    return a", "def f(a=2):\n    return a", "def f(a):\n    return lambda: a",
    "def f(a):\n    return a in {'b', 'c'}", "def f(a):\n    return a in {'b', 'd'}",
    "class A:\n    x = 1", "class A:\n    x = 2", "class B(A):\n    x = 2",
    "try:\n    x = 1\nexcept OSError:\n    x = 2", "try:\n    x = 1\nfinally:\n    x = 2",
)  # fmt: skip


def test_every_change_of_a_statement_counts_and_nothing_else():
    read = compilation._statements
    assert len({read(text.encode()) for text in STATEMENTS}) == len(STATEMENTS)
    for text in STATEMENTS:
        commented = f'# comment\n\n"""docstring"""\n\n{text}  # comment\n# comment\n'
        assert read(commented.encode()) == read(f'"""other"""\n{text}'.encode())
    inner = "class A:\n    {0}\n    def f():\n        {0}\n        return 1\n"
    assert len({read(inner.format(text).encode()) for text in ("'one'", "'another one'")}) == 1


def test_the_digest_depends_on_the_content_only(sources, tmp_path):
    digest = source_digest(sources)
    (sources / "notes.txt").write_text("no source")
    os.utime(sources / "a.py", (1, 1))
    assert source_digest(sources) == digest
    moved = tmp_path / "elsewhere"
    shutil.copytree(sources, moved)
    assert source_digest(moved) == digest


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        ("numba", "__version__", "0.0.1"),
        ("llvm", "get_host_cpu_name", lambda: "abacus"),
        ("sys", "implementation", SimpleNamespace(cache_tag="pypy-999")),
    ],
)
def test_the_digest_depends_on_numba_the_processor_and_python(
    sources, monkeypatch, owner, name, value
):
    digest = source_digest(sources)
    with monkeypatch.context() as changed:
        changed.setattr(getattr(compilation, owner), name, value)
        assert source_digest(sources) != digest
    assert source_digest(sources) == digest


@pytest.fixture
def clean_environment(monkeypatch, tmp_path):
    """No variable influences where the cache is; temporary files go to a folder of the test."""
    for variable in (CACHE_VARIABLE, "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return monkeypatch


def test_the_cache_is_in_the_requested_folder(clean_environment, tmp_path):
    assert cache_directory().is_relative_to(tmp_path / "home" / ".cache")
    digest = source_digest(PACKAGE / "dynamics")
    for variable in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR", CACHE_VARIABLE):  # the later one wins
        clean_environment.setenv(variable, str(tmp_path / variable))
        folder = cache_directory()
        assert folder.is_relative_to(tmp_path / variable)
        assert folder.is_dir()
        assert folder.stat().st_mode & 0o077 == 0  # machine code from here is executed
        assert folder.name == digest


def test_a_folder_that_cannot_be_written_is_replaced(clean_environment, tmp_path):
    obstacle = tmp_path / "a file"
    obstacle.write_text("")
    clean_environment.setenv(CACHE_VARIABLE, str(obstacle / "cache"))
    assert cache_directory().is_relative_to(tmp_path / "tmp")
    clean_environment.setattr(tempfile, "tempdir", str(obstacle))
    assert cache_directory() is None


def test_a_user_without_a_home_gets_a_temporary_folder(clean_environment, tmp_path):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    clean_environment.setattr(Path, "home", no_home)
    assert cache_directory().is_relative_to(tmp_path / "tmp")
    clean_environment.setenv(CACHE_VARIABLE, str(tmp_path / "chosen"))
    assert cache_directory().is_relative_to(tmp_path / "chosen")


def test_a_folder_to_which_others_can_write_is_not_trusted(clean_environment, tmp_path):
    folder = tmp_path / "chosen" / "multibody_dynamics"
    folder.mkdir(parents=True)
    clean_environment.setenv(CACHE_VARIABLE, str(folder.parent))
    for mode in (0o720, 0o702):
        folder.chmod(mode)
        with pytest.warns(RuntimeWarning, match="chosen/multibody_dynamics: other users can write"):
            assert cache_directory().is_relative_to(tmp_path / "tmp")
    folder.chmod(0o755)
    assert cache_directory().is_relative_to(folder)


def test_a_temporary_folder_of_another_user_is_not_trusted(clean_environment, tmp_path):
    (tmp_path / "a file").write_text("")
    clean_environment.setenv(CACHE_VARIABLE, str(tmp_path / "a file" / "cache"))
    assert cache_directory() is not None
    uid = os.getuid()
    clean_environment.setattr(os, "getuid", lambda: uid + 1)
    planted = tmp_path / "tmp" / f"multibody_dynamics-{uid + 1}"
    planted.mkdir()
    assert cache_directory() is None


def test_writers_of_one_file_at_the_same_time_leave_it_complete(tmp_path, monkeypatch):
    """Processes and threads that compile the same function; whoever reads gets one of theirs."""
    monkeypatch.setattr(compilation, "_CACHE", tmp_path)
    contents = [bytes([worker]) * 100_000 for worker in range(4)]

    def write_and_read(content):
        for _ in range(50):
            compilation.store_machine_code("function", content)
            assert compilation.load_machine_code("function") in contents

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write_and_read, contents))
    assert [file.name for file in tmp_path.iterdir()] == ["function"]


@pytest.mark.parametrize("owner", ["somebody", dyn.lie.so3.__name__])
def test_machine_code_with_functions_of_somebody_else_is_not_cached(tmp_path, monkeypatch, owner):
    """Nobody would notice when they change."""
    monkeypatch.setattr(compilation, "_CACHE", tmp_path)

    def doubled(x):
        return 2.0 * x

    def ours(x):
        return doubled(x)

    doubled.__module__, ours.__module__ = owner, dyn.lie.so3.__name__
    inlined(doubled)
    assert compiled(ours)(1.0) == 2.0
    assert bool(list(tmp_path.iterdir())) == (owner != "somebody")


def test_the_machine_code_of_every_function_has_a_name_of_its_own(every_module):
    """All that the cache goes by, also for functions that differ in what they close over only."""
    functions = [each.py_func for each in machine_code()]
    names = [(each.__module__, each.__qualname__) for each in functions]
    assert len(names) > 40
    assert len(set(names)) == len(names)
    assert sum(each.__closure__ is not None for each in functions) >= 12
