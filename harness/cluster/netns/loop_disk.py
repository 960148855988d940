"""One host's disk: ext4 in an image file, on a loop device.

ext4 can be told to stop at once (EXT4_IOC_SHUTDOWN): what no fsync has brought to the journal is
then lost, as by a loss of power, and every operation ends in EIO. Killing processes, or the whole
host, loses nothing: the page cache is this machine's.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shlex
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.cluster.errors import FaultMissedError, NodeFailedError
from harness.cluster.netns.tools import must

_SHUTDOWN = 0x8004587D
_NO_LOG_FLUSH = 2
_PATIENCE_S = 10.0
_POLL_S = 0.002
# A long commit interval leaves more for a loss of power to take; an error stops all writing.
_OPTIONS = "commit=60,errors=remount-ro,nodiscard"
_PROBE = ".probe"

_libc = ctypes.CDLL(None, use_errno=True)


class LoopDisk:
    """Directories are given as this machine can reach them, but for `mount_command`."""

    def __init__(self, image: Path, size_bytes: int) -> None:
        self.image = image
        self._size_bytes = size_bytes

    def make(self) -> None:
        with self.image.open("wb") as file:
            file.truncate(self._size_bytes)
        options = "-q -F -m 0 -J size=16 -E nodiscard,lazy_itable_init=1"
        must(["mkfs.ext4", *options.split(), str(self.image)], why=f"make the disk {self.image}")

    def mount_command(self, directory: Path) -> str:
        """For the shell of the host; the device goes when the last mount of it does."""
        image, target = shlex.quote(str(self.image)), shlex.quote(str(directory))
        return f"mount -n -o loop,{_OPTIONS} {image} {target}"

    def devices(self) -> list[str]:
        """The loop devices of this image, as the kernel calls them; none when it is not in use."""
        found = []
        for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
            with suppress(OSError):
                if backing.read_text().strip() == str(self.image):
                    found.append(backing.parts[3])
        return found

    def wait_until_free(self) -> None:
        until_s = time.monotonic() + _PATIENCE_S
        while self.devices():
            if time.monotonic() > until_s:
                raise NodeFailedError(f"the disk {self.image} is still in use after its host's end")
            time.sleep(_POLL_S)

    def drop_what_is_not_synced(self, directory: Path) -> None:
        with _opened(directory) as descriptor:
            fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))
        if why_not_writable(directory) is None:
            raise FaultMissedError(f"the disk {self.image} still takes writes without power")

    def sync(self, directory: Path) -> None:
        with _opened(directory) as descriptor:
            if _libc.syncfs(descriptor) != 0:
                raise OSError(ctypes.get_errno(), f"cannot sync {self.image}")

    def report_an_error(self) -> None:
        """To the file system: it stops all writing, as it does when it finds itself damaged."""
        for device in self.devices():
            Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("disk fault")

    def mount_again(self, pid: int, directory: Path) -> None:
        """In the host of `pid`, over the broken one, which stays with those who have it open.

        Through a device of its own: the broken file system would otherwise be found mounted
        already. It writes no more, and what it had in hand is written first.
        """
        for device in self.devices():
            must(["blockdev", "--flushbufs", f"/dev/{device}"], why="let go of a broken disk")
        image, target = shlex.quote(str(self.image)), shlex.quote(str(directory))
        script = (
            f"device=$(losetup --find --show {image}) || exit\n"
            f"umount -n --lazy {target} || exit\n"
            f"mount -n -o {_OPTIONS} $device {target}; done=$?\n"
            "losetup --detach $device\n"
            "exit $done\n"
        )
        path = "PATH=$PATH:/usr/sbin:/sbin\n"
        must(
            ["nsenter", "--target", str(pid), "--mount", "--pid", "/bin/sh", "-c", path + script],
            why=f"mount the disk {self.image} again",
        )


def why_not_writable(directory: Path) -> OSError | None:
    """By a file that is made, synced and removed."""
    probe = directory / _PROBE
    try:
        descriptor = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC)
        try:
            os.write(descriptor, b"?")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            probe.unlink()
    except OSError as problem:
        return problem
    return None


@contextmanager
def _opened(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
