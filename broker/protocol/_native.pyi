from typing_extensions import Buffer

class RecordWalk:
    records: int
    largest: int
    problem: int
    rejected_count: int
    rejected: list[tuple[int, int | None]] | None

    def __init__(
        self, count: int, needs_key: bool, earliest: int, latest: int, absent: int, /
    ) -> None: ...
    def feed(self, data: Buffer, /) -> int: ...
    def finish(self) -> int: ...

def largest_delta(
    data: Buffer, count: int, needs_key: bool, earliest: int, latest: int, absent: int, /
) -> int | None: ...
def crc32c(data: Buffer, crc: int = 0, /) -> int: ...
def is_plain(batch: Buffer, earliest: int, latest: int, /) -> bool: ...
