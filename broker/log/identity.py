"""The two small files that say whose data these are: of which topic, of which node."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from broker.disk.interface import Disk
from broker.log import file_names

META_PROPERTIES = "meta.properties"

_ID_SIZE = 16


class NotFormattedError(Exception):
    """The directory has not been given to any node yet."""


class WrongDirectoryError(Exception):
    """The directory belongs to another node or cluster, or says nothing sensible about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose `log.dir` it is, as `broker format` wrote it down."""

    cluster_id: str
    node_id: int
    directory_id: str


def text_of_id(raw: bytes) -> str:
    """Kafka prints ids in 22 characters."""
    return urlsafe_b64encode(raw).decode()[:22]


def id_of_text(text: str) -> bytes:
    raw = urlsafe_b64decode(text + "==")
    if len(raw) != _ID_SIZE:
        raise ValueError(f"{text!r} is no id")
    return raw


async def write_identity(disk: Disk, identity: Identity) -> None:
    lines = (
        "version=1",
        f"cluster.id={identity.cluster_id}",
        f"node.id={identity.node_id}",
        f"directory.id={identity.directory_id}",
    )
    await disk.make_directory("")
    await disk.replace(META_PROPERTIES, "".join(f"{line}\n" for line in lines).encode())


async def read_identity(disk: Disk, path: str) -> Identity:
    try:
        content = await disk.read(META_PROPERTIES)
    except FileNotFoundError:
        raise NotFormattedError(
            f"{path} has no {META_PROPERTIES}; run `broker format` once before the first start"
        ) from None
    entries: dict[str, str] = {}
    for line in content.decode(errors="replace").splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            entries[name.strip()] = value.strip()
    try:
        if entries["version"] != "1":
            raise WrongDirectoryError(
                f"{path}/{META_PROPERTIES} has version {entries['version']}, only 1 is known"
            )
        return Identity(
            cluster_id=entries["cluster.id"],
            node_id=int(entries["node.id"]),
            directory_id=entries.get("directory.id", ""),
        )
    except KeyError as missing:
        raise WrongDirectoryError(
            f"{path}/{META_PROPERTIES} is damaged: it has no {missing.args[0]}; restore it from a "
            "copy"
        ) from missing
    except ValueError as problem:
        raise WrongDirectoryError(
            f"{path}/{META_PROPERTIES} is damaged: node.id {entries['node.id']!r} is no number; "
            "restore it from a copy"
        ) from problem


async def write_topic_id(disk: Disk, directory: str, topic_id: bytes) -> None:
    content = f"version: 0\ntopic_id: {text_of_id(topic_id)}\n"
    await disk.replace(f"{directory}/{file_names.PARTITION_METADATA}", content.encode())


async def read_topic_id(disk: Disk, directory: str) -> bytes | None:
    """None when the file is missing or damaged: then the name is all that is known."""
    try:
        content = await disk.read(f"{directory}/{file_names.PARTITION_METADATA}")
    except FileNotFoundError:
        return None
    try:
        entries = dict(line.split(": ", 1) for line in content.decode().splitlines())
        return id_of_text(entries["topic_id"])
    except (KeyError, ValueError):
        return None


def check_owner(found: Identity, path: str, node_id: int | None, cluster_id: str | None) -> None:
    """Raises WrongDirectoryError. None: whoever asks does not know, or mind."""
    if node_id is not None and found.node_id != node_id:
        raise WrongDirectoryError(f"{path} belongs to node {found.node_id}, this is node {node_id}")
    if cluster_id is not None and found.cluster_id != cluster_id:
        raise WrongDirectoryError(
            f"{path} belongs to cluster {found.cluster_id}, this is {cluster_id}"
        )
