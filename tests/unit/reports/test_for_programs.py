"""What programs read of a run: its schema, JUnit, and the words of GitHub Actions."""

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from checkers.contract import Promise
from checkers.verdict import Anomaly, Validity, Verdict
from harness.doubts import Doubt, DoubtKind
from harness.run.outcome import Outcome
from harness.store.inside import DamagedError
from harness.store.results import FaultFigures, Figures, from_json, to_json
from harness.store.stored_run import read_results
from reports import sentences
from reports.github import step_summary, workflow_commands, write_step_summary
from reports.junit import no_end, write_junit
from tests.unit.reports.stored_runs import HOSTILE, results

SCHEMA = json.loads(
    (Path(__file__).parents[3] / "docs" / "reference" / "results.schema.json").read_text()
)


def outcome(*verdicts: Verdict, doubts: tuple[Doubt, ...] = ()) -> Outcome:
    faults = [FaultFigures(nemesis="kill", fault="a")]
    return Outcome(
        directory=Path("store/x"),
        command="harness test",
        verdicts=verdicts,
        doubts=doubts,
        figures=Figures(ok=1, faults=faults),
    )


def guilty(because: str = "it is gone") -> Verdict:
    anomaly = Anomaly(type="lost-write", ops=(1, 2), because=because, contract="Nothing is lost.")
    return Verdict(checker="lost-write", validity=Validity.INVALID, found=(anomaly, anomaly))


UNSURE = Verdict(checker="linear", validity=Validity.UNKNOWN, why="gave up")
UNSAID = Verdict(
    checker="lost-write",
    validity=Validity.UNKNOWN,
    found=(Anomaly(type="lost-write", ops=(1,), because="it is gone", promise=Promise.UNSAYABLE),),
    why="disks were struck",
)
LISTS = Verdict(
    checker="list-append",
    model="list-append",
    validity=Validity.INVALID,
    found=(Anomaly(type="G1c", ops=(1,), because="a circle"),),
    ruled_out=("read-committed",),
)
NOTHING_STRUCK = Doubt(DoubtKind.NEVER_STRUCK, "kill", "the run was over first")
FINE = Verdict(checker="duplicate", validity=Validity.VALID)


@pytest.mark.parametrize(
    "told",
    [
        outcome(FINE),
        outcome(guilty(), UNSURE, doubts=(NOTHING_STRUCK,)),
        outcome(UNSAID, LISTS),
        outcome(),
    ],
)
def test_results_keep_to_their_schema(told: Outcome) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(json.loads(json.dumps(to_json(told.results()))), SCHEMA)


def test_a_check_is_what_is_said_of_a_history_with_its_checker_and_model() -> None:
    said = FINE.as_json()
    unsure, lists = to_json(outcome(UNSURE, LISTS).results())["checks"]
    assert unsure.keys() == said.keys() | {"checker", "model"}
    assert (unsure["model"], unsure["not"], unsure["stats"]) == ("kafka", [], {"why": "gave up"})
    assert (lists["model"], lists["not"]) == ("list-append", ["read-committed"])
    needed = SCHEMA["$defs"]["check"]["required"]
    assert set(needed) == unsure.keys()


@pytest.mark.parametrize("verdict", [guilty(), UNSURE, UNSAID, LISTS, FINE])
def test_results_can_be_read_again(verdict: Verdict) -> None:
    told = outcome(verdict, doubts=(NOTHING_STRUCK,)).results()
    assert from_json(json.loads(json.dumps(to_json(told)))) == told


def test_results_of_the_second_schema_can_be_read_again(tmp_path: Path) -> None:
    old = results({}) | {
        "valid": "unknown",
        "doubts": [
            "not everything could be read back within 60 s: all of t-0 is left",
            "kill 1/n1 could not be undone: it refuses",
            "after the healing n1 does not run",
            "after healing, not within 60 s: every replica is in sync",
            "kill never struck: the run was over first",
        ],
    }
    (tmp_path / "results.json").write_text(json.dumps(old))
    found = read_results(tmp_path)
    assert found.validity is Validity.UNKNOWN
    assert [doubt.kind for doubt in found.doubts] == [
        DoubtKind.NOT_READ_BACK,
        DoubtKind.NOT_HEALED,
        DoubtKind.NOT_HEALED,
        DoubtKind.OUT_OF_SYNC,
        DoubtKind.OLDER,
    ]
    assert sentences.doubts(found)[-1] == old["doubts"][-1]


def test_a_check_of_the_first_schema_can_be_read_again(tmp_path: Path) -> None:
    old = results({})
    (check, *_) = old["checks"]
    first = {name: part for name, part in check.items() if name not in ("model", "not")}
    first |= {"valid": "unknown", "stats": {}, "why": "gave up"}
    (tmp_path / "results.json").write_text(json.dumps(old | {"schema": 1, "checks": [first]}))
    (verdict,) = read_results(tmp_path).verdicts
    assert (verdict.validity, verdict.why) == (Validity.UNKNOWN, "gave up")


def test_results_of_a_later_schema_are_refused(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps(results({}) | {"schema": 99}))
    with pytest.raises(DamagedError, match="its schema is 99"):
        read_results(tmp_path)


def test_what_the_contract_cannot_say_is_neither_allowed_nor_forbidden() -> None:
    told = outcome(UNSAID).results()
    (check,) = to_json(told)["checks"]
    assert (check["allowed"], check["anomaly-types"]) == ([], ["lost-write"])
    assert (told.counts(), told.anomalies) == ({}, ())
    assert sentences.verdict(told) == "unknown: lost-write: disks were struck"


def test_the_schema_notices_a_field_that_nobody_described() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**to_json(outcome(FINE).results()), "surprise": 1}, SCHEMA)


def test_junit_has_one_case_for_each_checker_and_one_for_doubts(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    told = outcome(guilty(), UNSURE, FINE, doubts=(NOTHING_STRUCK,)).results()
    write_junit([("queue kill", told)], path)
    suite = ElementTree.parse(path).getroot()[0]  # noqa: S314 - our own file
    cases = {case.get("name"): [each.tag for each in case] for case in suite.iter("testcase")}
    assert cases == {
        "lost-write": ["failure"],
        "linear": ["error"],
        "duplicate": [],
        "doubts": ["error"],
    }
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "2")


def test_a_run_that_could_not_be_made_is_an_error(tmp_path: Path) -> None:
    write_junit([("queue", no_end("harness test", "no such host"))], tmp_path / "junit.xml")
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]  # noqa: S314 - our own file
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")


@pytest.mark.parametrize("value", HOSTILE)
def test_junit_can_be_read_whatever_a_value_holds(tmp_path: Path, value: str) -> None:
    write_junit([("queue", outcome(guilty(value)).results())], tmp_path / "junit.xml")
    ElementTree.parse(tmp_path / "junit.xml")  # noqa: S314 - our own file


def test_annotations_tell_the_first_of_each_type_on_one_line() -> None:
    lines = workflow_commands(outcome(guilty("gone: 100%\n::error::no")).results())
    assert lines == ["::error title=2 lost-write::gone: 100%25%0A::error::no"]


def test_an_unknown_verdict_is_a_warning() -> None:
    assert workflow_commands(outcome(UNSURE).results()) == [
        "::warning title=unknown::unknown: linear: gave up"
    ]


def test_a_step_summary_is_text_even_with_fences_in_it(tmp_path: Path) -> None:
    said = step_summary(["invalid: 1 lost-write", "  ``` # <b>"], Validity.INVALID)
    assert said.splitlines()[2] == "````text"
    path = tmp_path / "summary.md"
    write_step_summary(["valid: all"], Validity.VALID, path)
    write_step_summary(["valid: all"], Validity.VALID, path)
    assert path.read_text().count("valid: all") == 2


@pytest.mark.parametrize(
    ("validity", "sign"),
    [(Validity.VALID, "✅"), (Validity.INVALID, "❌"), (Validity.UNKNOWN, "❔"), (None, "❌")],
)
def test_the_sign_of_a_step_summary_is_the_verdict_whatever_its_words_are(
    validity: Validity | None, sign: str
) -> None:
    assert step_summary(["valid: says who"], validity).startswith(f"{sign}\n")
