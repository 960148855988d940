"""How transactional ids are listed and described."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from broker.groups.consumer.topic_regex.automaton import TopicPattern
from broker.groups.consumer.topic_regex.characters import LEGAL
from broker.groups.consumer.topic_regex.errors import RegexSyntaxError
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.transactions.state import STATE_BY_LABEL
from broker.transactions.transaction import Transaction

Filter = Callable[[Transaction, int], bool]


def unknown_states(labels: Iterable[str]) -> list[str]:
    return [label for label in labels if label not in STATE_BY_LABEL]


def filter_of(asked: m.ListTransactionsRequest) -> Filter:
    """Whether a transaction is listed at that wall-clock time, in ms. Raises KafkaError for a
    pattern that is none. An empty filter lets all pass; names of states are case-sensitive."""
    states = {STATE_BY_LABEL[label] for label in asked.state_filters if label in STATE_BY_LABEL}
    producer_ids = frozenset(asked.producer_id_filters)
    duration_ms = asked.duration_filter
    matches = _pattern(asked.transactional_id_pattern)

    def is_listed(transaction: Transaction, now_ms: int) -> bool:
        return (
            (not producer_ids or transaction.producer_id in producer_ids)
            and (not asked.state_filters or transaction.state in states)
            and (duration_ms < 0 or now_ms - transaction.start_ms > duration_ms)
            and matches(transaction.transactional_id)
        )

    return is_listed


def _pattern(expression: str | None) -> Callable[[str], bool]:
    if not expression:
        return lambda _: True
    try:
        pattern = TopicPattern(expression)
    except RegexSyntaxError as problem:
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, str(problem)) from problem
    # The automaton knows the characters of topic names only. An id with others matches nothing.
    return lambda name: LEGAL.issuperset(name) and pattern.matches(name)


def listed(transaction: Transaction) -> m.ListTransactionsResponseTransactionState:
    return m.ListTransactionsResponseTransactionState(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        transaction_state=transaction.state.label,
    )


def described(
    transactional_id: str, transaction: Transaction | None
) -> m.DescribeTransactionsResponseTransactionState:
    if transaction is None:
        return description_failed(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    by_topic: dict[str, list[int]] = {}
    for topic, index in transaction.partitions:
        by_topic.setdefault(topic, []).append(index)
    return m.DescribeTransactionsResponseTransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.label,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[
            m.DescribeTransactionsResponseTopicData(topic=topic, partitions=indexes)
            for topic, indexes in by_topic.items()
        ],
    )


def description_failed(
    transactional_id: str, code: ErrorCode
) -> m.DescribeTransactionsResponseTransactionState:
    return m.DescribeTransactionsResponseTransactionState(
        transactional_id=transactional_id, error_code=code, topics=[]
    )
