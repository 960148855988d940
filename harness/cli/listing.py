"""harness workloads, nemeses, checkers: what there is, from the docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import click


@click.command("workloads")
def list_workloads() -> int:
    """List the workloads: what clients can do."""
    from workloads import WORKLOADS

    return _tell(WORKLOADS)


@click.command("nemeses")
def list_nemeses() -> int:
    """List the nemeses: what can be broken."""
    from nemesis import described

    return _tell(described())


@click.command("checkers")
def list_checkers() -> int:
    """List the checkers: what is decided about a history."""
    from checkers import all_checkers

    return _tell({name: checker.about for name, checker in all_checkers().items()})


def _tell(things: Mapping[str, object]) -> int:
    width = max(map(len, things))
    for name, thing in things.items():
        said = thing if isinstance(thing, str) else inspect.getdoc(thing) or ""
        sentence = " ".join(said.partition("\n\n")[0].split())
        click.echo(f"{name:{width}}  {sentence}")
    return 0
