"""harness workloads, nemeses, checkers: what there is, from the docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

import click

from harness.cli.plan_options import PLUGIN


@click.command("workloads")
@PLUGIN
def list_workloads(plugin: Sequence[str]) -> int:
    """List the workloads: what clients can do."""
    from harness.plugins import load_plugins
    from harness.registry import REGISTRY, found

    load_plugins(plugin)
    return _tell({name: found(each) for name, each in REGISTRY.workloads.items()})


@click.command("nemeses")
@PLUGIN
def list_nemeses(plugin: Sequence[str]) -> int:
    """List the nemeses: what can be broken."""
    from harness.plugins import load_plugins
    from nemesis import described

    load_plugins(plugin)
    return _tell(described())


@click.command("checkers")
@PLUGIN
def list_checkers(plugin: Sequence[str]) -> int:
    """List the checkers: what is decided about a history."""
    from checkers import all_checkers
    from harness.plugins import load_plugins

    load_plugins(plugin)
    return _tell({name: checker.about for name, checker in all_checkers().items()})


def _tell(things: Mapping[str, object]) -> int:
    width = max(map(len, things))
    for name, thing in things.items():
        said = thing if isinstance(thing, str) else inspect.getdoc(thing) or ""
        sentence = " ".join(said.partition("\n\n")[0].split())
        click.echo(f"{name:{width}}  {sentence}")
    return 0
