"""meta.properties: to which cluster and node a log directory belongs, as Kafka writes it."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from random import Random
from uuid import UUID

from broker.config.properties import PropertiesSyntaxError, parse_properties
from broker.disk.interface import Disk

FILE_NAME = "meta.properties"
_VERSION = "1"


class IdentityError(Exception):
    """The directory is not one that this node may use; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class DirectoryIdentity:
    cluster_id: str
    node_id: int
    directory_id: str

    def text(self) -> str:
        return (
            f"cluster.id={self.cluster_id}\n"
            f"directory.id={self.directory_id}\n"
            f"node.id={self.node_id}\n"
            f"version={_VERSION}\n"
        )

    @classmethod
    def parse(cls, text: str) -> DirectoryIdentity:
        try:
            found = {name: entry.value for name, entry in parse_properties(text).items()}
            if found["version"] != _VERSION:
                raise IdentityError(f"version is {found['version']}, only {_VERSION} is known")
            return cls(found["cluster.id"], int(found["node.id"]), found["directory.id"])
        except PropertiesSyntaxError as error:
            raise IdentityError(str(error)) from None
        except KeyError as error:
            raise IdentityError(f"{error.args[0]} is missing") from None
        except ValueError:
            raise IdentityError("node.id is not a number") from None


def new_id(random: Random) -> str:
    """Sixteen random bytes in the 22 letters that Kafka writes."""
    while True:
        text = urlsafe_b64encode(UUID(bytes=random.randbytes(16), version=4).bytes).decode()
        # A leading dash would be taken for an option on a command line.
        if not text.startswith("-"):
            return text.rstrip("=")


def is_id(text: str) -> bool:
    try:
        return len(text) == 22 and len(urlsafe_b64decode(text + "==")) == 16
    except (Base64Error, ValueError):
        return False


async def read_identity(disk: Disk, path: str) -> DirectoryIdentity | None:
    """None when the directory was never formatted. `path` is for the error's sentence."""
    if FILE_NAME not in await disk.list(""):
        return None
    content = await disk.read(FILE_NAME)
    try:
        return DirectoryIdentity.parse(content.decode("utf-8", "replace"))
    except IdentityError as error:
        raise IdentityError(f"{path}/{FILE_NAME}: {error}") from None


async def write_identity(disk: Disk, identity: DirectoryIdentity) -> None:
    await disk.make_directory("")
    await disk.replace(FILE_NAME, identity.text().encode())
