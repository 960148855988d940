"""Models that count, against Jepsen's definitions tried out one by one."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.models import Question, judge
from checkers.verdict import Validity
from tests.property.count_histories import ACCOUNTS, PLAYS, TOTAL, count_history
from tests.property.count_oracle import ORACLES, completed
from tests.property.light_history import LightHistory

Counted = tuple[Validity, dict[str, int]]

_QUESTIONS = {"bank": Question(initial=dict.fromkeys(ACCOUNTS, TOTAL // 3), has_initial=True)}


def difference(model: str, dice: Random) -> tuple[Counted, Counted]:
    rows = count_history(dice, model)
    result = judge(LightHistory(rows), model, _QUESTIONS.get(model, Question()))
    assert not result.why.startswith("the checker broke"), result.why
    found = {type_: count for type_, count in result.stats.get("counts", {}).items() if count}
    if model == "long-fork" and found:
        # Pairs of reads are told; the definition only says of each set of keys that there are some.
        found = {"long-fork": len({str(one.witness["keys"]) for one in result.found})}
    counts = ORACLES[model](completed(rows))
    if counts is None:
        return (result.validity, found), (Validity.UNKNOWN, {})
    defined = {type_: count for type_, count in counts.items() if count}
    # As in Jepsen, a set that is late is no fault unless it is to be linearizable.
    guilty = defined.keys() - {"stale"}
    return (result.validity, found), (Validity.INVALID if guilty else Validity.VALID, defined)


@pytest.mark.parametrize("model", PLAYS)
@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_model_counts_what_its_definition_says(model: str, seed: int) -> None:
    found, defined = difference(model, Random(seed))
    assert found == defined
