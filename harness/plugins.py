"""Plugins: systems, clients, workloads, nemeses and checkers from outside of the tree.

A plugin is a Python file or module with a function `register(registry)`, which calls the methods of
harness/registry.py. `--plugin` names one; installed packages announce theirs by the entry-point
group `log_trial.plugins`. Every process of a run loads the same ones.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from checkers.checker import Checker
from checkers.registry import add, all_checkers
from harness.errors import UsageFailure
from harness.registry import REGISTRY

GROUP = "log_trial.plugins"
_loaded: set[str] = set()


class PluginError(UsageFailure):
    """A plugin could not be loaded, or was not named."""


def load_plugins(words: Iterable[str]) -> None:
    """Installed plugins, then these, each once; PluginError says what is wrong with one."""
    for point in entry_points(group=GROUP):
        _load(f"{point.value} (installed)", point.value)
    for word in words:
        _load(word, resolved(word))


def resolved(word: str) -> str:
    """A file by its absolute path, for processes that may run elsewhere; a module by its name."""
    return str(Path(word).absolute()) if _is_file(word) else word


def require(words: Iterable[str]) -> None:
    """PluginError if a stored run used plugins that were not named again.

    A stored run never has them loaded by itself: a plugin is code, and runs come from others, too.
    """
    missing = [word for word in words if resolved(word) not in _loaded]
    if missing:
        again = " ".join(f"--plugin {word}" for word in missing)
        raise PluginError(f"the run used plugins that are not loaded; add {again}")


def _is_file(word: str) -> bool:
    return word.endswith(".py") or "/" in word


def _load(word: str, name: str) -> None:
    if name in _loaded:
        return
    before = len(REGISTRY.checkers)
    try:
        module = _of_file(Path(name)) if _is_file(name) else importlib.import_module(name)
        if not callable(getattr(module, "register", None)):
            raise PluginError("it has no function register(registry)")
        module.register(REGISTRY)
        for at, checker in enumerate(REGISTRY.checkers[before:], before):
            _refuse_checker(checker, REGISTRY.checkers[before:at])
    # A plugin is other people's code: whatever it raises is told in one sentence. A SystemExit, as
    # of a script that is no module, would pass for a verdict.
    except (Exception, SystemExit) as error:
        del REGISTRY.checkers[before:]
        what = str(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"
        raise PluginError(f"plugin {word} could not be loaded: {what}") from error
    add(REGISTRY.checkers[before:])
    _loaded.add(name)


def _refuse_checker(checker: object, others: Iterable[Checker]) -> None:
    """PluginError for what is registered as a checker and cannot be asked as one.

    `others` are those that the plugin registered before. A checker with a name of ours would be
    asked instead of ours.
    """
    if not isinstance(checker, Checker):
        raise PluginError(f"{checker!r} is no Checker; declare one of checkers/checker.py")
    if not callable(checker.look):
        raise PluginError(f"the checker {checker.name} has no function `look`; add one")
    if checker.name in {*all_checkers(), *(each.name for each in others)}:
        raise PluginError(f"there is a checker {checker.name!r} already; choose another name")


def _of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise PluginError("there is no such file")
    name = f"log_trial_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError("it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
