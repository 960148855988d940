"""Hosts on this machine, made of Linux namespaces."""

from harness.cluster.netns.place import NetnsPlace
from harness.cluster.netns.registry import heal

__all__ = ["NetnsPlace", "heal"]
