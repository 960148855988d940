"""A transaction coordinator that answers the leader of a partition as a test wants it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker.coordination.step import ProducerIdAndEpoch
from broker.node import Node
from broker.protocol.errors import ErrorCode
from broker.transaction_verification import Support, TopicPartition


class Coordinator:
    """Stands for `TransactionVerification`: answers as it is told, after something happened."""

    def __init__(self, node: Node, code: ErrorCode, before_answer: Any = None) -> None:
        self.asked: list[tuple[Sequence[TopicPartition], Support]] = []
        self._code = code
        self._before_answer = before_answer
        node.verification = self  # type: ignore[assignment]

    def is_needed(self, support: Support) -> bool:
        return True

    async def ask(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
        support: Support,
    ) -> dict[TopicPartition, ErrorCode]:
        self.asked.append((list(partitions), support))
        if self._before_answer is not None:
            await self._before_answer()
        return dict.fromkeys(partitions, self._code)

    def close(self) -> None:
        pass
