"""Hosts that are reached over ssh: short commands, files, and processes that live on."""
