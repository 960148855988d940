"""What clients had on the wire, for the page and the terminal: batch sizes, requests in flight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.store.results import TrafficFigures


@dataclass(frozen=True, slots=True)
class ClientTraffic:
    client: str
    batching: str
    """linger.ms, batch size and codec that the workload chose for it."""
    batches: int
    mean: float
    """Records in a batch; `p50`, `p99` and `most` likewise."""
    p50: int
    p99: int
    most: int
    bytes_max: int
    requests: int
    """Most in flight at one moment; `records` likewise."""
    records: int


@dataclass(frozen=True, slots=True)
class TrafficTable:
    sentence: str
    clients: tuple[ClientTraffic, ...]
    is_sampled: bool


def traffic_table(figures: Mapping[str, TrafficFigures]) -> TrafficTable | None:
    """None where nothing was counted: the client does not count, or the run came to no end."""
    said = on_the_wire(figures)
    if said is None:
        return None
    rows = tuple(
        ClientTraffic(
            client=client,
            batching=f"{each['linger_ms']} ms, {each['batch_bytes']:,} bytes, {each['codec']}",
            batches=each["batches"],
            mean=each["batch_records"]["mean"],
            p50=each["batch_records"]["p50"],
            p99=each["batch_records"]["p99"],
            most=each["batch_records"]["most"],
            bytes_max=each["batch_bytes_max"],
            requests=each["requests_in_flight_max"],
            records=each["records_in_flight_max"],
        )
        for client, each in figures.items()
    )
    return TrafficTable(said, rows, any(each["sampled"] for each in figures.values()))


def on_the_wire(figures: Mapping[str, TrafficFigures]) -> str | None:
    """In one sentence, for all clients together."""
    every = [each for each in figures.values() if each["batches"]]
    if not every:
        return None
    batches = sum(each["batches"] for each in every)
    records = sum(each["records"] for each in every)
    most = max(each["batch_records"]["most"] for each in every)
    requests = max(each["requests_in_flight_max"] for each in every)
    in_flight = max(each["records_in_flight_max"] for each in every)
    return (
        f"{_counted(batches, 'batch', 'es')} of up to {_counted(most, 'record')}, "
        f"{records / batches:.1f} on average; one client had up to "
        f"{_counted(requests, 'request')} and {_counted(in_flight, 'record')} in flight"
    )


def _counted(count: int, noun: str, plural: str = "s") -> str:
    return f"{count:,} {noun}{plural * (count != 1)}"
