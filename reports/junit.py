"""Verdicts as JUnit XML: one suite for each run, one case for each checker.

An anomaly is a failure; what a checker could not tell is an error, since a skipped case would pass
for fine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from checkers.verdict import Validity, Verdict
from harness.doubts import Doubt, DoubtKind
from harness.store.results import RunResults
from reports import sentences

if TYPE_CHECKING:
    from junitparser import TestCase, TestSuite

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(runs: Iterable[tuple[str, RunResults]], path: Path) -> None:
    """`runs`: each with its name."""
    from junitparser import JUnitXml

    xml = JUnitXml("harness")
    for name, results in runs:
        xml.add_testsuite(_suite(name, results))
    xml.write(str(path), pretty=True)


def no_end(command: str, why: str) -> RunResults:
    """Of a run that could not be made: nothing was checked, and that is an error."""
    doubt = Doubt(DoubtKind.NO_END, detail=why)
    return RunResults(run="", command=command, validity=Validity.UNKNOWN, doubts=(doubt,))


def _suite(name: str, results: RunResults) -> TestSuite:
    from junitparser import Error, TestCase, TestSuite

    suite = TestSuite(name)
    suite.timestamp = _iso(results.run)
    suite.add_property("command", _text(results.command))
    for verdict in results.verdicts:
        suite.add_testcase(_case(name, verdict))
    if results.doubts:
        case = TestCase("doubts", classname=name, time=0)
        case.result = [Error(_text("; ".join(sentences.doubts(results))))]
        suite.add_testcase(case)
    return suite


def _case(name: str, verdict: Verdict) -> TestCase:
    from junitparser import Error, Failure, TestCase

    case = TestCase(_text(verdict.checker), classname=name, time=0)
    if verdict.validity is Validity.UNKNOWN:
        case.result = [Error(_text(verdict.why) or "unknown")]
    elif verdict.validity is Validity.INVALID:
        told = [(each.type, _text(each.because)) for each in verdict.anomalies]
        # One failure for a case, as readers of this format expect; the rest is its text.
        failure = Failure(told[0][1] if told else "invalid", told[0][0] if told else None)
        failure.text = "\n".join(because for _, because in told)
        case.result = [failure]
    return case


def _iso(run: str) -> str:
    """20261116T001530.123Z as this format has times."""
    match = re.match(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)", run)
    return "{}-{}-{}T{}:{}:{}".format(*match.groups()) if match else run


def _text(said: object) -> str:
    """XML cannot hold every character, and values are whatever a system returned."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", str(said))
