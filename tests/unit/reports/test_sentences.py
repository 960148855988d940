"""The sentences about a run, as people read them."""

from typing import Any, cast

from checkers.contract import Promise
from checkers.verdict import Anomaly, Validity, Verdict
from harness.doubts import Doubt, DoubtKind
from harness.store.results import CauseFigures, RunResults, TrafficFigures
from reports import sentences


def results(**changed: Any) -> RunResults:
    told: dict[str, Any] = {
        "run": "20261116T001530.123Z",
        "command": "harness test -w queue --nemesis kill --time-limit 60 --seed 7",
        "validity": Validity.VALID,
        "verdicts": (check("lost-write"), check("duplicate")),
        **changed,
    }
    return RunResults(**told)


def check(name: str, **changed: Any) -> Verdict:
    return Verdict(**{"checker": name, "validity": Validity.VALID, **changed})


def lost(number: int, promise: Promise = Promise.NEVER) -> Anomaly:
    return Anomaly(
        type="lost-write",
        ops=(),
        because=f"value {number} is gone",
        promise=promise,
        contract="Nothing is lost.",
    )


def test_a_valid_run_says_how_much_was_asked() -> None:
    said = sentences.verdict(results())
    assert said == "valid: 2 checkers found no anomaly"


def test_what_the_contract_allows_is_counted_and_is_no_anomaly() -> None:
    allowed = check("lost-write", found=(lost(1, Promise.ALLOWED),))
    told = results(verdicts=(allowed,))
    assert sentences.verdict(told) == (
        "valid: 1 checker found no anomaly; the contract allows 1 finding"
    )
    assert told.counts() == {}


def test_an_unknown_verdict_names_every_reason() -> None:
    told = results(
        validity=Validity.UNKNOWN,
        doubts=(Doubt(DoubtKind.NEVER_STRUCK, "kill", "the run was over first"),),
        verdicts=(check("linear", validity=Validity.UNKNOWN, why="gave up after 120 s"),),
    )
    assert sentences.verdict(told) == (
        "unknown: kill injected no fault: the run was over first; linear: gave up after 120 s"
    )


def traffic(**changed: Any) -> TrafficFigures:
    told: Any = {
        "linger_ms": 5, "batch_bytes": 256, "codec": "lz4", "requests_in_flight_max": 1,
        "batches_in_flight_max": 1, "records_in_flight_max": 9, "batches": 2, "records": 10,
        "batch_records": {"mean": 5.0, "p50": 1, "p99": 9, "most": 9},
        "batch_bytes_mean": 90.0, "batch_bytes_max": 150, "sampled": False,
        **changed,
    }  # fmt: skip
    return cast("TrafficFigures", told)


def test_a_summary_says_what_was_on_the_wire() -> None:
    more = traffic(requests_in_flight_max=5, records_in_flight_max=1_200, batches=1_000)
    told = results(figures={"traffic": {"c1": traffic(), "c2": {**more, "records": 9_010}}})
    assert (
        "  on the wire: 1,002 batches of up to 9 records, 9.0 on average; one client had up to 5 "
        "requests and 1,200 records in flight"
    ) in sentences.summary(told, "store/x")
    told = results(figures={"traffic": {"c1": traffic(batches=0)}})
    assert not any("on the wire" in line for line in sentences.summary(told, "store/x"))


def test_a_summary_tells_the_first_few_and_counts_the_rest() -> None:
    broken = check(
        "lost-write",
        validity=Validity.INVALID,
        found=tuple(lost(number) for number in range(5)),
        stats={"count": 1200},
    )
    lines = sentences.summary(results(validity=Validity.INVALID, verdicts=(broken,)), "store/x")
    assert lines == [
        "invalid: 1,200 lost-write",
        "  lost-write: value 0 is gone",
        "  lost-write: value 1 is gone",
        "  lost-write: value 2 is gone",
        "  lost-write: and 1,197 more",
        "  contract: Nothing is lost.",
        "  store/x",
        "run it again with: harness test -w queue --nemesis kill --time-limit 60 --seed 7",
    ]


def test_a_summary_tells_one_loss_once_however_many_checkers_found_it() -> None:
    anomalies = [
        Anomaly(
            type="lost-write", ops=(), because="", witness={"key": "q-0", "offset": at, "value": at}
        )
        for at in (4, 5)
    ]
    gone = Anomaly(type="unseen", ops=(), because="",
                   witness={"key": "q-0", "unseen": 391, "messages": [4, 5]})  # fmt: skip
    verdicts = (
        check(
            "lost-write", validity=Validity.INVALID, found=tuple(anomalies), stats={"count": 391}
        ),
        check("unseen", validity=Validity.INVALID, found=(gone,), stats={"count": 391}),
    )
    lines = sentences.summary(results(validity=Validity.INVALID, verdicts=verdicts), "store/x")
    assert lines[:3] == [
        "invalid: 391 lost-write, 391 unseen",
        "  391 acknowledged records of q-0, among them offset 4, are gone, found by lost-write and "
        "unseen",
        "  store/x",
    ]


def test_a_summary_counts_the_causes_that_it_has_no_room_for() -> None:
    found = tuple(
        Anomaly(type="lost-write", ops=(), because="gone", witness={"key": f"q-{at}", "offset": 1})
        for at in range(12)
    )
    verdict = check("lost-write", validity=Validity.INVALID, found=found)
    lines = sentences.findings(results(validity=Validity.INVALID, verdicts=(verdict,)))
    assert lines == ["lost-write: gone"] * 8 + [
        "and 4 more causes; the page of the run shows all of them"
    ]


def test_a_summary_tells_the_causes_that_the_run_has_stored() -> None:
    found = tuple(lost(at) for at in range(16))
    verdict = check("lost-write", validity=Validity.INVALID, found=found, stats={"count": 40})
    causes = [
        CauseFigures(
            sentence=f"n{at} was elected at {at}.0 s: 4 records are gone", types=["lost-write"],
            findings=4, partition="q-0", lost=4, lost_is_all=True, elected_ms=1000.0 * at,
            fault="kill 1",
        )
        for at in range(1, 10)
    ]  # fmt: skip
    told = results(validity=Validity.INVALID, verdicts=(verdict,), causes=tuple(causes))
    lines = sentences.findings(told)
    assert lines[0] == "n1 was elected at 1.0 s: 4 records are gone"
    assert lines[8:] == ["and 1 more cause; the page of the run shows all of them"]


def test_many_causes_of_one_type_do_not_hide_another_type() -> None:
    types = [*["precommitted-read"] * 12, "oversold"]
    causes = tuple(
        CauseFigures(
            sentence=f"{type_} {at}", types=[type_], findings=1, partition=None, lost=0,
            lost_is_all=True, elected_ms=None, fault=None,
        )
        for at, type_ in enumerate(types)
    )  # fmt: skip
    lines = sentences.findings(results(validity=Validity.INVALID, verdicts=(), causes=causes))
    shown = [f"precommitted-read {at}" for at in range(7)]
    assert lines[:8] == [*shown, "oversold 12"]
    assert lines[8:] == ["and 5 more causes; the page of the run shows all of them"]
