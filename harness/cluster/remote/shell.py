"""One host over ssh, by fabric: commands that end, files to it and from it.

All of it shares one connection, which is opened at the first need and again after a loss. ssh
blocks, so threads do it; several commands may be under way at once.
"""

from __future__ import annotations

import asyncio
import io
import logging
import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from harness.cluster.base import Completed
from harness.cluster.errors import NoAnswerError, NotInTimeError
from harness.errors import EnvironmentFailure

if TYPE_CHECKING:
    from fabric import Connection
    from paramiko import Channel

_KILLED = 128 + 9
_NO_EXIT_CODE = -1
_GRACE_S = 15.0
_LOGIN_WITHIN_S = 15.0
_TRANSFER_WITHIN_S = 120.0
_KEEPALIVE_S = 5
_CHUNK_BYTES = 1 << 16

_Result = TypeVar("_Result")

# Whatever goes wrong with a connection is raised here, too; printed as well it would be in the way.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """How to get in. The host has to prove itself by a key that `known_hosts` holds."""

    address: str
    user: str
    key_file: Path
    known_hosts: Path
    port: int = 22


@dataclass(frozen=True, slots=True)
class Answer:
    exit_code: int
    stdout: str
    stderr: str


class Shell:
    def __init__(
        self,
        name: str,
        login: Login,
        *,
        dial: Callable[[], socket.socket],
        home: PurePosixPath,
        threads: Executor,
    ) -> None:
        """`dial` opens a socket to the host's sshd. Commands run in `home`, which has to exist."""
        self.name = name
        self.home = home
        self._login = login
        self._dial = dial
        self._threads = threads
        self._connection: Connection | None = None
        self._opening = threading.Lock()
        self._transferring = threading.Lock()

    async def run(self, argv: Sequence[str], *, within_s: float = 60) -> Completed:
        """A command that takes longer is killed on its host, and what it started with it."""
        begun_s = time.monotonic()
        # Not by exec: of a command that a signal ended, sshd itself would tell no exit code.
        answer = await self.script(
            f"cd {shlex.quote(str(self.home))} && "
            f"timeout -s KILL {within_s:.3f} {shlex.join(argv)}; exit $?",
            within_s=within_s + _GRACE_S,
        )
        if answer.exit_code == _KILLED and time.monotonic() - begun_s >= within_s:
            raise NotInTimeError(
                f"timed out after {within_s:g} s waiting until "
                f"{argv[0]} ends on {self.name}; it was killed"
            )
        return Completed(tuple(argv), answer.exit_code, answer.stdout, answer.stderr)

    async def script(self, text: str, *, within_s: float = 30) -> Answer:
        """What sh there makes of it; who is killed there counts 128 more."""
        return await self._in_thread(lambda: self._scripted(text, within_s), within_s)

    async def put(self, content: bytes, target: PurePosixPath) -> None:
        """Whole or not at all: it is written beside its target, and then takes its name."""
        made = await self.script(f"mkdir -p {shlex.quote(str(target.parent))}")
        if made.exit_code != 0:
            raise EnvironmentFailure(f"{self.name} cannot hold {target}: {made.stderr.strip()}")

        def write(connection: Connection) -> None:
            sftp, beside = connection.sftp(), f"{target}.part"
            sftp.putfo(io.BytesIO(content), beside)
            sftp.posix_rename(beside, str(target))

        await self._in_thread(lambda: self._transfer(write, target))

    async def get(self, source: PurePosixPath, into: Path) -> None:
        def read(connection: Connection) -> None:
            connection.sftp().get(str(source), str(into))

        await self._in_thread(lambda: self._transfer(read, source))

    async def open(self) -> None:
        await self._in_thread(self._open)

    def close(self) -> None:
        """Whoever still waits for an answer gets none."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    async def _in_thread(
        self, act: Callable[[], _Result], within_s: float = _TRANSFER_WITHIN_S
    ) -> _Result:
        """Not for ever: ssh itself waits without end for a host that stands still."""
        try:
            async with asyncio.timeout(within_s + _GRACE_S):
                return await asyncio.get_running_loop().run_in_executor(self._threads, act)
        except TimeoutError:
            raise NoAnswerError(f"{self.name} did not answer over ssh in time") from None

    def _scripted(self, text: str, within_s: float) -> Answer:
        until_s = time.monotonic() + within_s
        with self._told():
            channel = self._open().transport.open_session(timeout=within_s)
            with channel:
                # The user's own shell may be any, and not all of them split words as sh does.
                channel.exec_command(f"exec sh -c {shlex.quote(text)}")
                stdout, stderr = _both_streams(channel, until_s)
                exit_code = channel.recv_exit_status()
        if exit_code == _NO_EXIT_CODE:
            raise NoAnswerError(f"{self.name} was lost while it ran a command")
        return Answer(exit_code, stdout, stderr)

    def _transfer(self, act: Callable[[Connection], None], path: PurePosixPath) -> None:
        with self._told(), self._transferring:
            try:
                act(self._open())
            except FileNotFoundError:
                raise EnvironmentFailure(f"{self.name} has no {path}") from None
            except PermissionError as error:
                raise EnvironmentFailure(f"{self.name} keeps {path} to itself: {error}") from None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Whatever ssh stumbles over means that the host gave no answer."""
        from paramiko import SSHException

        try:
            yield
        except (SSHException, OSError, EOFError) as error:
            reason = str(error) or type(error).__name__
            raise NoAnswerError(f"{self.name} did not answer over ssh: {reason}") from None

    def _open(self) -> Connection:
        with self._opening:
            connection = self._connection
            if connection is None or not connection.is_connected:
                connection = self._connection = _connected(self._login, self._dial())
            return connection


def _connected(login: Login, to_host: socket.socket) -> Connection:
    from fabric import Config, Connection
    from paramiko import RejectPolicy

    # Without it every command waits for a delayed acknowledgement: 50 ms instead of 4.
    to_host.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection = Connection(
        login.address,
        user=login.user,
        port=login.port,
        # What the user set up for ssh by hand is for other hosts than ours.
        config=Config(overrides={"load_ssh_configs": False}),
        connect_kwargs={
            "sock": to_host,
            "key_filename": str(login.key_file),
            "look_for_keys": False,
            "allow_agent": False,
            "banner_timeout": _LOGIN_WITHIN_S,
            "auth_timeout": _LOGIN_WITHIN_S,
        },
    )
    connection.client.load_host_keys(str(login.known_hosts))
    connection.client.set_missing_host_key_policy(RejectPolicy())
    try:
        connection.open()
    except BaseException:
        with suppress(OSError):
            to_host.close()
        raise
    connection.transport.set_keepalive(_KEEPALIVE_S)
    return connection


def _both_streams(channel: Channel, until_s: float) -> tuple[str, str]:
    """At once: a host that may not write the one will not go on to write the other."""
    errors = bytearray()
    reader = threading.Thread(
        target=_read_all, args=(channel, channel.recv_stderr, until_s, errors), daemon=True
    )
    reader.start()
    output = bytearray()
    in_time = _read_all(channel, channel.recv, until_s, output)
    reader.join(max(0.0, until_s - time.monotonic()))
    if not in_time or reader.is_alive():
        raise TimeoutError("the command takes too long")
    return output.decode(errors="replace"), errors.decode(errors="replace")


def _read_all(
    channel: Channel, receive: Callable[[int], bytes], until_s: float, into: bytearray
) -> bool:
    """False if the time was over before the stream was."""
    while True:
        channel.settimeout(max(0.001, until_s - time.monotonic()))
        try:
            more = receive(_CHUNK_BYTES)
        except TimeoutError:
            return False
        if not more:
            return True
        into += more
