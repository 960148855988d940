"""The sentences about a run, as people read them."""

from typing import Any

from reports import sentences


def results(**changed: Any) -> dict[str, Any]:
    return {
        "schema": 2,
        "run": "20261116T001530.123Z",
        "command": "harness test -w queue --nemesis kill --time-limit 60 --seed 7",
        "valid": True,
        "doubts": [],
        "figures": {},
        "checks": [check("lost-write"), check("duplicate")],
        **changed,
    }


def check(name: str, **changed: Any) -> dict[str, Any]:
    return {
        "checker": name,
        "valid": True,
        "model": "kafka",
        "anomaly-types": [],
        "allowed": [],
        "anomalies": {},
        "not": [],
        "stats": {},
        **changed,
    }


def lost(number: int) -> dict[str, Any]:
    return {"because": f"value {number} is gone", "contract": "Nothing is lost.", "ops": []}


def test_a_valid_run_says_how_much_was_asked() -> None:
    said = sentences.verdict(results())
    assert said == "valid: 2 checkers found nothing that must not be"


def test_what_the_contract_allows_is_counted_and_is_no_anomaly() -> None:
    allowed = check("lost-write", anomalies={"lost-write": [lost(1)]}, allowed=["lost-write"])
    told = results(checks=[allowed])
    assert sentences.verdict(told).endswith("must not be; 1 allowed by the contract")
    assert sentences.counts(told) == {}


def test_an_unknown_verdict_names_every_reason() -> None:
    told = results(
        valid="unknown",
        doubts=["kill never struck"],
        checks=[check("linear", valid="unknown", stats={"why": "gave up after 120 s"})],
    )
    assert sentences.verdict(told) == "unknown: kill never struck; linear: gave up after 120 s"


def test_a_summary_tells_the_first_few_and_counts_the_rest() -> None:
    broken = check(
        "lost-write",
        valid=False,
        anomalies={"lost-write": [lost(number) for number in range(5)]},
        stats={"count": 1200},
    )
    lines = sentences.summary(results(valid=False, checks=[broken]), "store/x")
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
