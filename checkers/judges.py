"""Who judges by which model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from checkers.counts.banks import bank
from checkers.counts.counters import counter, unique_ids
from checkers.counts.forks import long_fork
from checkers.counts.queues import queue, total_queue
from checkers.counts.sets import full_set, whole_set
from checkers.linear.models import (
    cas_register,
    fifo_queue,
    kv_append,
    multi_register,
    mutex,
    register,
    stack,
)
from checkers.log.model import kafka
from checkers.models import Question
from checkers.results import Result
from checkers.transactions.list_append import list_append
from checkers.transactions.rw_register import rw_register

JUDGES: dict[str, Callable[[Any, Question], Result]] = {
    "kafka": kafka,
    "list-append": list_append,
    "rw-register": rw_register,
    "register": register,
    "cas-register": cas_register,
    "multi-register": multi_register,
    "kv-append": kv_append,
    "mutex": mutex,
    "fifo-queue": fifo_queue,
    "stack": stack,
    "set": whole_set,
    "set-full": full_set,
    "queue": queue,
    "total-queue": total_queue,
    "counter": counter,
    "unique-ids": unique_ids,
    "bank": bank,
    "long-fork": long_fork,
}
