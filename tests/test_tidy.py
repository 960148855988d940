"""The small rules of the house, kept by a test so that nobody has to remember them."""

import ast
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("broker", "harness", "nemesis", "checkers", "workloads", "reports", "pipeline")
CODE = (*PACKAGES, "bench", "tests")

MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

# The only places in broker that may touch the machine. Everything else uses what it is handed.
OUTERMOST = (
    "broker/disk/descriptor.py",
    "broker/disk/files.py",
    "broker/disk/open_file.py",
    "broker/disk/threads.py",
    "broker/network/sockets.py",
    "broker/clock.py",
    "broker/cli/",
)
MACHINE_MODULES = frozenset(
    "os io socket select selectors time threading concurrent subprocess pathlib shutil tempfile "
    "signal secrets uuid multiprocessing mmap fcntl resource".split()
)
MACHINE_CALLS = frozenset(
    "open input print datetime.now datetime.utcnow date.today asyncio.to_thread "
    "loop.run_in_executor random.random random.randrange random.choice random.randint".split()
)
HEAVY_MODULES = ("numpy", "pyarrow", "networkx", "paramiko", "matplotlib", "numba", "pyspark")


def tracked(pattern: str) -> list[Path]:
    """What git knows, or would take: not what a run left behind."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [path for line in listed.stdout.splitlines() if (path := ROOT / line).is_file()]


def modules(*top: str) -> list[Path]:
    return [path for path in tracked("*.py") if path.relative_to(ROOT).parts[0] in top]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Source:
    """What the rules ask of one module. To parse all modules takes 2 s, so it is done once, and
    the trees, which are 20 times as large as their sources, are not kept."""

    says_what_it_is_for: bool
    defined: tuple[str, ...]
    function_lines: dict[str, int]
    imported: frozenset[str]
    has_checkers: bool


@cache
def source(path: Path) -> Source:
    text = path.read_text()
    tree = ast.parse(text)
    package = ".".join(path.relative_to(ROOT).parent.parts)
    defined: list[str] = []
    lines: dict[str, int] = {}
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            defined.append(node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            defined.append(node.name)
            length = (node.end_lineno or 0) - node.lineno + 1
            lines[node.name] = max(length, lines.get(node.name, 0))
        else:
            imported |= imported_by(node, package)
    return Source(
        says_what_it_is_for=not text.strip() or ast.get_docstring(tree) is not None,
        defined=tuple(defined),
        function_lines=lines,
        imported=frozenset(imported),
        has_checkers=any(assigns_checkers(node) for node in tree.body),
    )


def imported_by(node: ast.AST, package: str) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        base = package if node.level else ""
        module = ".".join(part for part in (base, node.module or "") if part)
        return {module} | {f"{module}.{alias.name}" for alias in node.names}
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        # What is registered as module:name is imported when it is asked for.
        return set(re.findall(r"^([a-z_.]+):[A-Za-z_]+$", node.value))
    return set()


def assigns_checkers(node: ast.AST) -> bool:
    """Modules with checkers are found by the registry."""
    return isinstance(node, ast.Assign) and any(
        isinstance(each, ast.Name) and each.id == "CHECKERS" for each in node.targets
    )


def called(node: ast.Call) -> str:
    return ast.unparse(node.func)


def test_modules_are_short_enough_to_read() -> None:
    lengths = {name(path): len(path.read_text().splitlines()) for path in modules(*CODE)}
    assert {path: count for path, count in lengths.items() if count > MODULE_LINES_MAX} == {}


def test_functions_fit_on_a_screen() -> None:
    long = {
        f"{name(path)}:{function}": lines
        for path in modules(*CODE)
        for function, lines in source(path).function_lines.items()
        if lines > FUNCTION_LINES_MAX
    }
    assert long == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [name(path) for path in modules(*CODE) if not source(path).says_what_it_is_for]
    assert silent == []


def test_the_broker_uses_only_what_it_is_handed() -> None:
    taken = []
    for path in modules("broker"):
        if name(path).startswith(OUTERMOST):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                taken += [
                    f"{name(path)}: import {alias.name}"
                    for alias in node.names
                    if alias.name.split(".")[0] in MACHINE_MODULES | {"random"}
                ]
            elif isinstance(node, ast.ImportFrom) and node.module:
                top = node.module.split(".")[0]
                names = {alias.name for alias in node.names}
                if top in MACHINE_MODULES or (top == "random" and names != {"Random"}):
                    taken.append(f"{name(path)}: from {node.module} import {sorted(names)}")
            elif isinstance(node, ast.Call) and called(node) in MACHINE_CALLS:
                taken.append(f"{name(path)}:{node.lineno}: {called(node)}(")
    assert taken == []


def test_no_name_outside_tests_looks_like_a_test() -> None:
    lookalikes = [
        f"{name(path)}:{defined}"
        for path in modules(*PACKAGES, "bench")
        for defined in source(path).defined
        if defined.startswith(("test_", "Test"))
    ]
    assert lookalikes == []


def test_no_file_is_named_after_nothing() -> None:
    vague = ("util", "utils", "common", "helpers", "misc", "manager")
    assert [name(path) for path in modules(*CODE) if path.stem in vague] == []


def test_nothing_is_left_open() -> None:
    marks = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|^(?:<{7}|>{7}) ")
    left = [
        f"{name(path)}:{number}"
        for path in (*modules(*CODE), *tracked("*.md"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if marks.search(line)
    ]
    assert left == []


def test_every_module_is_reached_from_somewhere() -> None:
    reached = set().union(*(source(path).imported for path in modules(*CODE)))
    entry = ("__init__", "__main__")
    lonely = [
        name(path)
        for path in modules(*PACKAGES)
        if path.stem not in entry
        and ".".join(path.relative_to(ROOT).with_suffix("").parts) not in reached
        and not source(path).has_checkers
    ]
    assert lonely == []


def test_every_page_has_one_title() -> None:
    for path in tracked("*.md"):
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        assert len(re.findall(r"^# ", text, flags=re.MULTILINE)) == 1, name(path)


def test_no_page_has_the_marks_of_a_merge_conflict() -> None:
    marks = ("<<<<<<< ", ">>>>>>> ")
    pages = [page for pattern in ("*.md", "*.toml", "*.txt") for page in tracked(pattern)]
    torn = [
        page
        for page in pages
        if any(line.startswith(marks) for line in page.read_text(errors="replace").splitlines())
    ]
    assert torn == []


def test_every_link_between_pages_is_alive() -> None:
    dead = []
    for path in tracked("*.md"):
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
            if "://" not in target and not (path.parent / target).exists():
                dead.append(f"{name(path)} -> {target}")
    assert dead == []


@pytest.mark.parametrize("command", ["harness", "broker"])
def test_help_is_quick_because_it_imports_nothing_heavy(command: str) -> None:
    script = (
        f"import sys, runpy; sys.argv = [{command!r}, '--help']\n"
        f"try: runpy.run_module({command!r}, run_name='__main__')\n"
        "except SystemExit as e: assert not e.code, e.code\n"
        f"print([m for m in {HEAVY_MODULES!r} if m in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert shown.stdout.splitlines()[-1] == "[]"
