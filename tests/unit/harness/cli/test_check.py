"""harness check: files in, verdicts and exit codes out."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]
import pytest
from click.testing import CliRunner

from harness.cli.check import check
from harness.history.history import History
from tests.unit.checkers.segments.stored import batch, write
from tests.unit.checkers.stories import polled, sent, told

LOSS = told(sent(0, "x", (0, 1)), sent(0, "x", (1, 2)), polled(1, "x", (1, 2)))
FINE = told(sent(0, "x", (0, 1)), polled(1, "x", (0, 1)))


def asked(*arguments: str) -> tuple[int, str]:
    """The exit code of the verdict, or click's own where it was no verdict, and what was said."""
    result = CliRunner().invoke(check, [*arguments], standalone_mode=False)
    if result.exception is not None:
        return -1, str(result.exception)
    return result.return_value, result.output


@pytest.mark.parametrize(("history", "code"), [(FINE, 0), (LOSS, 1), (History.of([]), 2)])
def test_the_verdict_is_the_exit_code(tmp_path: Path, history: History, code: int) -> None:
    history.write_parquet(tmp_path / "history.parquet")
    assert asked(str(tmp_path), "--model", "kafka")[0] == code


def test_programs_get_one_object(tmp_path: Path) -> None:
    LOSS.write_parquet(tmp_path / "history.parquet")
    told_ = json.loads(asked(str(tmp_path), "--model", "kafka", "--json")[1])
    assert told_.keys() == {"valid", "anomaly-types", "allowed", "anomalies", "not", "stats"}
    assert told_["valid"] is False
    (loss,) = told_["anomalies"]["lost-write"]
    said = {"ops", "because", "severity", "promise", "row", "contract", "witness"}
    assert loss.keys() == said
    assert (loss["promise"], loss["row"]) == ("never", "always")


def test_the_configured_contract_allows_what_was_never_promised(tmp_path: Path) -> None:
    LOSS.write_parquet(tmp_path / "history.parquet")
    weak = ("--model", "kafka", "--acks", "1", "--json")
    assert asked(str(tmp_path), *weak)[0] == 1
    code, output = asked(str(tmp_path), *weak, "--contract", "configured")
    assert code == 0
    assert "lost-write" in json.loads(output)["allowed"]


def test_text_keys_of_a_poll_are_the_integers_of_the_sends(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    rows = [
        {"process": 0, "type": "ok", "f": "send", "value": [["send", 11, [0, 5]]]},
        {"process": 1, "type": "ok", "f": "poll", "value": [["poll", {"11": [[0, 6]]}]]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, output = asked(str(path), "--model", "kafka", "--json")
    assert code == 1
    assert "inconsistent-offsets" in json.loads(output)["anomaly-types"]


def test_edn_is_judged_as_well(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(
        "[{:process 0 :type :ok :f :txn :value [[:append :x 1] [:r :y [1]]]}\n"
        " {:process 1 :type :ok :f :txn :value [[:append :y 1] [:r :x [1]]]}]\n"
    )
    code, output = asked(str(path), "--model", "list-append", "--consistency-model", "serializable")
    assert code == 1
    assert "G1c" in output
    assert "a contradiction" in output


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("none.jsonl", None, "no history is here"),
        ("bad.jsonl", '{"type": "ok"\n', "line 1: expected one operation as JSON"),
        ("bad.edn", "{:type :ok", "line 1: expected } for line 1"),
    ],
)
def test_what_cannot_be_read_is_told_and_is_no_verdict(
    tmp_path: Path, name: str, text: str | None, said: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    code, output = asked(str(tmp_path / name), "--model", "kafka")
    assert code == -1
    assert said in output


def test_a_consistency_model_that_nobody_knows_is_no_verdict(tmp_path: Path) -> None:
    FINE.write_parquet(tmp_path / "history.parquet")
    code, output = asked(str(tmp_path), "--model", "list-append", "--consistency-model", "soon")
    assert code == -1
    assert "unknown consistency model soon; choose one of" in output


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("kafka", ("--consistency-model", "serializable"), "no meaning for the model kafka"),
        ("register", ("--consistency-model", "serializable"), "is for list-append, rw-register"),
        ("mutex", ("--initial", "true"), "--initial is for register, "),
        ("kafka", ("--initial", "0"), "has no meaning for the model kafka"),
        ("kafka", ("--null-read", "asserts"), "--null-read is for register, cas-register, "),
        ("register", ("--failed-cas", "asserts"), "--failed-cas is for cas-register; it has"),
        ("register", ("--failed-cas", "ignored"), "no meaning for the model register"),
        ("list-append", ("--budget", "5"), "--budget is for register, "),
        *(
            ("register", option, f"{option[0]} is for kafka; it has no meaning for the model")
            for option in (
                ("--ww-deps",),
                ("--exact-polls",),
                ("--exact-ends",),
                ("--dense-offsets",),
                ("--stale-bound", "1"),
                ("--segments", "nowhere"),
                ("--contract", "configured"),
                ("--acks", "all"),
                ("--isolation-level", "read_committed"),
                ("--subscribe",),
                ("--idempotence",),
                ("--retries", "1"),
                ("--unclean-leader-election",),
                ("--replication-factor", "3"),
                ("--min-insync-replicas", "2"),
                ("--transactions",),
                ("--flush", "os"),
                ("--faults", "kill"),
                ("--unsafe-faults",),
            )
        ),
        ("bank", ("--initial", "abc"), "the model bank takes the total, an integer"),
        ("bank", ("--initial", "true"), "the model bank takes the total, an integer"),
        ("bank", ("--initial", '{"a": "b"}'), "the model bank takes the total, an integer"),
        ("counter", ("--initial", "1.5"), "the model counter takes an integer"),
        ("kv-append", ("--initial", "[]"), "the model kv-append takes a text"),
        ("kafka", ("--min-insync-replicas", "4"), "4 is more than --replication-factor 3"),
        (
            "kafka",
            ("--replication-factor", "1", "--min-insync-replicas", "2"),
            "2 is more than --replication-factor 1",
        ),
        ("kafka", ("--segments", ""), "the name is empty; give a directory"),
    ],
)
def test_an_option_that_would_mean_nothing_is_refused(
    tmp_path: Path, model: str, options: tuple[str, ...], said: str
) -> None:
    FINE.write_parquet(tmp_path / "history.parquet")
    code, output = asked(str(tmp_path), "--model", model, *options)
    assert code == -1
    assert said in output


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("kafka", ("--replication-factor", "1")),
        ("kafka", ("--replication-factor", "5", "--min-insync-replicas", "4")),
        ("set-full", ("--consistency-model", "linearizable")),
        ("bank", ("--initial", "100")),
        ("bank", ("--initial", '{"a": 50, "b": 50}')),
        ("counter", ("--initial", "-3")),
        ("kv-append", ("--initial", "abc")),
        ("multi-register", ("--initial", '{"x": 1}')),
        ("cas-register", ("--initial", "null")),
        ("cas-register", ("--failed-cas", "asserts", "--null-read", "asserts")),
        ("stack", ("--budget", "5")),
    ],
)
def test_an_option_that_means_something_is_taken(
    tmp_path: Path, model: str, options: tuple[str, ...]
) -> None:
    History.of([]).write_parquet(tmp_path / "history.parquet")
    assert asked(str(tmp_path), "--model", model, *options)[0] == 2


def stored(directory: Path, *values: int) -> Path:
    for node in ("n1", "n2", "n3"):
        write(directory / "segments", node, "x-0", [batch("x-0", 0, *values)])
    return directory / "segments"


def test_segments_that_cannot_say_are_told_of(tmp_path: Path) -> None:
    history = told(sent(0, "x-0", (0, 1)), polled(1, "x-0", (0, 1)))
    history.write_parquet(tmp_path / "history.parquet")
    write(tmp_path / "segments", "n1", "x-0", [batch("x-0", 0, 1)])
    options = ("--model", "kafka", "--segments", str(tmp_path / "segments"))
    code, output = asked(str(tmp_path), *options)
    assert code == 0
    because = "the segments of x-0 do not show what was lost: of 3 replicas only 1 can be read"
    assert output.splitlines() == [because, "valid"]
    code, output = asked(str(tmp_path), *options, "--replication-factor", "1")
    assert output.splitlines() == ["valid"]


@pytest.mark.parametrize(("values", "code"), [((1, 2), 0), ((1,), 1)])
def test_segments_are_the_ground_truth(tmp_path: Path, values: tuple[int, ...], code: int) -> None:
    history = told(sent(0, "x-0", (0, 1)), sent(0, "x-0", (1, 2)), polled(1, "x-0", (0, 1), (1, 2)))
    history.write_parquet(tmp_path / "history.parquet")
    segments = str(stored(tmp_path, *values))
    found, output = asked(str(tmp_path), "--model", "kafka", "--segments", segments, "--json")
    assert found == code
    answer = json.loads(output)
    assert answer["anomaly-types"] == ["lost-write"] * code
    assert answer["stats"]["segments"]["replicas"] == 3


@pytest.mark.parametrize(
    ("history", "model", "directory", "said"),
    [
        (FINE, "kafka", "nowhere", "no such directory"),
        (FINE, "kafka", ".", "no segments are here"),
        (FINE, "kafka", "segments", "names none of these logs"),
        (FINE, "list-append", "segments", "it has no meaning for the model list-append"),
    ],
)
def test_segments_that_cannot_be_used_are_told_and_are_no_verdict(
    tmp_path: Path, history: History, model: str, directory: str, said: str
) -> None:
    history.write_parquet(tmp_path / "run" / "history.parquet")
    stored(tmp_path, 1)
    run = str(tmp_path / "run")
    where = tmp_path / directory if directory != "." else tmp_path / "run"
    code, output = asked(run, "--model", model, "--segments", str(where))
    assert code == -1
    assert said in output


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--retries", "-1"), "not in the range"),
        (("--replication-factor", "0"), "not in the range"),
        (("--min-insync-replicas", "0"), "not in the range"),
        (("--budget", "0"), "not in the range"),
        (("--stale-bound", "-1"), "not in the range"),
        (("--acks", "2"), "is not one of"),
        (("--faults", "kill,rust"), "unknown nemesis rust; choose one of"),
    ],
)
def test_an_option_out_of_range_is_no_verdict(
    tmp_path: Path, option: tuple[str, str], said: str
) -> None:
    FINE.write_parquet(tmp_path / "history.parquet")
    code, output = asked(str(tmp_path), "--model", "kafka", *option)
    assert code == -1
    assert said in output


CONFIGURED = ("--contract", "configured")
STRUCK = ("--min-insync-replicas", "1", "--faults", "power")


@pytest.mark.parametrize(
    ("option", "code"),
    [
        ((), 1),
        (("--faults", "power,disk", "--unsafe-faults"), 2),
        ((*CONFIGURED, "--acks", "1"), 0),
        ((*CONFIGURED, "--unclean-leader-election"), 0),
        ((*CONFIGURED, *STRUCK), 0),
        ((*CONFIGURED, *STRUCK, "--flush", "every-record"), 1),
    ],
)
def test_the_configuration_decides_what_a_loss_is(
    tmp_path: Path, option: tuple[str, ...], code: int
) -> None:
    told(sent(0, "x", (0, 1)), sent(1, "x", (1, 2)), polled(2, "x", (1, 2))).write_parquet(
        tmp_path / "history.parquet"
    )
    assert asked(str(tmp_path), "--model", "kafka", *option)[0] == code


def test_a_bound_makes_a_stale_read_an_anomaly(tmp_path: Path) -> None:
    history = told((1, "ok", "assign", ["x"]), sent(0, "x", (0, 1)), polled(1, "x"))
    fine = told((1, "ok", "assign", ["x"]), polled(1, "x"), sent(0, "x", (0, 1)))
    for which, types in ((history, ["stale-read", "unseen"]), (fine, ["unseen"])):
        which.write_parquet(tmp_path / "history.parquet")
        _, output = asked(str(tmp_path), "--model", "kafka", "--stale-bound", "0", "--json")
        assert json.loads(output)["anomaly-types"] == types


def test_polls_are_exact_and_offsets_dense_only_if_somebody_says_so(tmp_path: Path) -> None:
    history = told(sent(0, "x", (1, 1)), polled(1, "x"))
    history.write_parquet(tmp_path / "history.parquet")
    plain = json.loads(asked(str(tmp_path), "--model", "kafka", "--json")[1])
    assert plain["anomaly-types"] == ["unseen"]
    both = ("--exact-polls", "--dense-offsets", "--json")
    strict = json.loads(asked(str(tmp_path), "--model", "kafka", *both)[1])
    assert strict["anomaly-types"] == ["G-single-item-realtime", "nonlinearizable-log", "unseen"]
    assert strict["allowed"] == ["G-single-item-realtime"]


@pytest.mark.parametrize("bound", ["nan", "inf", "1e300", "-1"])
def test_a_bound_that_is_no_time_is_refused(tmp_path: Path, bound: str) -> None:
    FINE.write_parquet(tmp_path / "history.parquet")
    code, output = asked(str(tmp_path), "--model", "kafka", "--stale-bound", bound)
    assert code == -1
    assert "not in the range" in output


def test_half_a_character_is_told_by_its_escape(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    rows = [
        {"process": 0, "type": "ok", "f": "send", "value": [["send", 1, [0, "\ud800"]]]},
        {"process": 1, "type": "ok", "f": "poll", "value": [["poll", {"1": [[0, "\ud801"]]}]]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, output = asked(str(path), "--model", "kafka")
    assert code == 1
    assert "\\ud80" in output
    rows[1]["value"] = "\ud801"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, output = asked(str(path), "--model", "kafka")
    assert code == -1
    output.encode()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("deep.jsonl", '{"process": 0, "type": "ok", "f": "read", "value": %s%s}'),
        ("deep.edn", "{:process 0 :type :ok :f :read :value %s%s}"),
    ],
)
@pytest.mark.parametrize("depth", [198, 200, 700, 100_000])
def test_lists_without_end_are_refused(tmp_path: Path, name: str, text: str, depth: int) -> None:
    (tmp_path / name).write_text(text % ("[" * depth, "]" * depth))
    code, output = asked(str(tmp_path / name), "--model", "set")
    if depth < 200:
        assert code == 1
        assert "no process added" in output
    else:
        assert code == -1
        assert "found lists within lists without end" in output


@pytest.mark.parametrize("process", [-1, -2, 2**31])
def test_only_by_its_name_is_a_process_the_nemesis(tmp_path: Path, process: int) -> None:
    rows = {
        "history.jsonl": f'{{"process": {process}, "type": "ok", "f": "read", "value": 7}}\n',
        "history.edn": f"{{:process {process} :type :ok :f :read :value 7}}\n",
    }
    for name, row in rows.items():
        (tmp_path / name).write_text(row)
        code, output = asked(str(tmp_path / name), "--model", "register")
        assert code == -1
        assert 'line 1: expected an integer from 0 to 2147483647 or "nemesis"' in output


def test_a_value_that_is_no_json_is_told_and_is_no_verdict(tmp_path: Path) -> None:
    path = tmp_path / "history.parquet"
    told((0, "ok", "write", "a"), (1, "ok", "read", "a")).write_parquet(path)
    values = pq.read_table(path / "values.parquet")
    pq.write_table(values.set_column(1, "json", pa.array(["a"])), path / "values.parquet")
    code, output = asked(str(tmp_path), "--model", "register")
    assert code == -1
    said = 'a key or a value of the history: expected JSON, found "a"'
    assert output == f"{tmp_path}: {said}"
