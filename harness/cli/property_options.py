"""Which properties of topics, brokers and clients a run takes; others are refused with a reason.

Brokers and client libraries refuse what they do not know by themselves. Refused here is what they
would take, and what the harness or its verdict would not know of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from harness.cluster.server_properties import SET_HERE
from harness.run.property_values import whole_number

_MIN_ISR = "min.insync.replicas"
_CLIENT_OPTIONS = {
    "acks": "--acks",
    "request.required.acks": "--acks",
    "enable.idempotence": "--enable-idempotence",
    "retries": "--retries",
    "message.send.max.retries": "--retries",
    "isolation.level": "--isolation-level",
    "bootstrap.servers": "--on",
    "metadata.broker.list": "--on",
}
"""Properties that the verdict goes by, by librdkafka's aliases too, and the option for each."""
_OF_NO_CLIENT = {
    "transactional.id": "workloads of transactions give each client an id of its own",
    "default.topic.config": "give its properties one by one",
}
_PLAINTEXT = "plaintext"


def refuse_properties(chosen: Mapping[str, Any]) -> None:
    """UsageError for the first property of the options that a run must not have."""
    _check_min_isr(chosen["topic_config"])
    for name in chosen["broker_config"]:
        if name in SET_HERE:
            raise click.UsageError(
                f"--broker-config {name}: the harness sets this itself, for each node; leave it out"
            )
    for of in ("producer_config", "consumer_config"):
        for name, value in chosen[of].items():
            _check_of_client(f"--{of.replace('_', '-')} {name}", _main_name(name), value)


def _main_name(name: str) -> str:
    """aiokafka writes _ for the dot; librdkafka takes `topic.` before what is of a topic."""
    return name.replace("_", ".").removeprefix("topic.")


def _check_of_client(said: str, name: str, value: str) -> None:
    if name in _CLIENT_OPTIONS:
        raise click.UsageError(
            f"{said} must be set by its own option, which the verdict uses; try "
            f"{_CLIENT_OPTIONS[name]}"
        )
    if name in _OF_NO_CLIENT:
        raise click.UsageError(f"{said} is not supported: {_OF_NO_CLIENT[name]}; leave it out")
    if name == "security.protocol" and value.lower() != _PLAINTEXT:
        raise click.UsageError(
            f"{said}={value} cannot connect: the brokers listen for {_PLAINTEXT} only; leave it out"
        )


def _check_min_isr(topic_config: Mapping[str, str]) -> None:
    said = topic_config.get(_MIN_ISR)
    if said is None:
        return
    try:
        is_possible = whole_number(said) > 0
    except ValueError:
        is_possible = False
    if not is_possible:
        raise click.UsageError(
            f"--topic-config {_MIN_ISR}={said}: expected a whole number of at least 1; "
            f"try {_MIN_ISR}=2"
        )
