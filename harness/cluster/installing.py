"""Installs the broker of this tree on a host of any place, from wheels and without a network.

beside the host's home:
installed-<digest>/     a virtual environment; made once for each state of the tree
installed               a link to the one in use
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from pathlib import PurePosixPath

from harness.cluster.base import Place
from harness.cluster.capabilities import Node
from harness.cluster.wheelhouse import TELL, Target, Wheelhouse, wheelhouse_for
from harness.errors import EnvironmentFailure

INSTALLED_BROKER = ("../installed/bin/python", "-m", "broker")
"""How to run it from the host's home, wherever that is."""

_NOT_FOUND = 127
_INSTALL_WITHIN_S = 300.0

# The old ones go first: a disk that holds five of them is no disk for a broker.
_INSTALL = """
set -e
cd {beside}
rm -rf installed installed-* wheels
mkdir wheels
tar -xf wheels.tar -C wheels
rm wheels.tar
{python} -m venv --without-pip installed-{digest}
pip=$(echo wheels/pip/pip-*.whl)/pip
installed-{digest}/bin/python "$pip" install --quiet \
  --disable-pip-version-check --isolated --no-index --no-deps --no-compile wheels/*.whl
rm -rf wheels
ln -s installed-{digest} installed
installed/bin/python -m broker --version
touch installed/complete
"""


class Installer:
    """Of one place. What several hosts share is made once."""

    def __init__(self, place: Place, python: Callable[[Node], str] = lambda _: "python3") -> None:
        """`python` tells with which one a host's environment is made."""
        self._place = place
        self._python = python
        self._wheelhouses: dict[Target, asyncio.Task[Wheelhouse]] = {}

    async def install(self, node: Node) -> None:
        wheelhouse = await self._wheelhouse(await self._target(node))
        beside = next(host.home for host in self._place.hosts if host.node == node).parent
        if await self._has(node, beside, wheelhouse.digest):
            return
        content = await asyncio.to_thread(wheelhouse.archive.read_bytes)
        await self._place.put(node, content, beside / "wheels.tar")
        script = _INSTALL.format(
            beside=shlex.quote(str(beside)),
            python=shlex.quote(self._python(node)),
            digest=wheelhouse.digest,
        )
        done = await self._place.run(node, ["sh", "-c", script], within_s=_INSTALL_WITHIN_S)
        if done.exit_code != 0:
            raise EnvironmentFailure(
                f"the broker could not be installed on {node}: {done.stderr.strip()[-1500:]}"
            )

    async def _target(self, node: Node) -> Target:
        python = self._python(node)
        done = await self._place.run(node, [python, "-c", TELL])
        if done.exit_code == _NOT_FOUND:
            raise EnvironmentFailure(
                f"{node} has no {python}, and the broker takes Python 3.11 or newer; try there: "
                "apt-get install python3"
            )
        return Target.of(done.stdout, node)

    async def _wheelhouse(self, target: Target) -> Wheelhouse:
        if target not in self._wheelhouses:
            making = asyncio.to_thread(wheelhouse_for, target)
            self._wheelhouses[target] = asyncio.create_task(making)
        return await asyncio.shield(self._wheelhouses[target])

    async def _has(self, node: Node, beside: PurePosixPath, digest: str) -> bool:
        look = f"cd {shlex.quote(str(beside))} && test -e installed/complete && readlink installed"
        found = await self._place.run(node, ["sh", "-c", look])
        return found.stdout.strip() == f"installed-{digest}"
