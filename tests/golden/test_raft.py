"""Stories about the metadata quorum. `Play` lists the commands that they are written in."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.raft import events as v
from broker.raft.roles import Role
from tests.golden import raft_words as words
from tests.golden.raft_stage import EVERYTHING, Member, Stage
from tests.golden.raft_words import name
from tests.golden.transcripts import check
from tests.unit.broker.raft.memory_log import Record

STORIES = sorted(Path(__file__).parent.joinpath("raft").glob("*.txt"))


class Play:
    """Runs commands, one on a line: a word, then its arguments."""

    def __init__(self) -> None:
        self.stage = Stage()

    def __call__(self, command: list[str]) -> list[str]:
        self.stage.told = []
        for line in command:
            self._do(*line.split())
        return self.stage.told or ["(nothing)"]

    def _do(self, word: str, *arguments: str) -> None:
        getattr(self, f"do_{word}")(*arguments)

    def do_given(self, *command: str) -> None:
        """A command that only sets the stage: nothing is told of it."""
        told = list(self.stage.told)
        self._do(*command)
        self.stage.told = told

    def _member(self, who: str) -> Member:
        return self.stage.members[int(who.removeprefix("n"))]

    def do_voters(self, *who: str) -> None:
        """Before any other command."""
        self.stage.voters = tuple(int(each.removeprefix("n")) for each in who)
        for node_id in self.stage.voters:
            self._join(node_id)

    def do_observer(self, who: str) -> None:
        self._join(int(who.removeprefix("n")))

    def _join(self, node_id: int) -> None:
        member = Member(node_id)
        self.stage.members[node_id] = member
        self.stage.start(member)

    def do_timeout(self, who: str) -> None:
        """The clock moves on to when this member has to look at it; the others do not look."""
        member = self._member(who)
        self.stage.now = max(self.stage.now, member.up.wake_at)
        self.stage.step(member, v.TimePassed())

    def do_wait(self, seconds: str) -> None:
        self.stage.now += float(seconds)

    def do_look(self, who: str) -> None:
        """At the clock, where it stands."""
        self.stage.step(self._member(who), v.TimePassed())

    def do_deliver(self, sender: str = "", to: str = "") -> None:
        """All that is under way and what comes of it; or the oldest from one to another."""
        stage = self.stage
        if not sender:
            while stage.under_way:
                stage.deliver(stage.under_way[0])
            return
        stage.deliver(stage.under_way[self._oldest(sender, to)])

    def do_lose(self, sender: str = "", to: str = "") -> None:
        if sender:
            del self.stage.under_way[self._oldest(sender, to)]
        else:
            self.stage.under_way.clear()

    def do_copy(self, sender: str, to: str) -> None:
        """The oldest from one to another is under way once more."""
        self.stage.under_way.append(self.stage.under_way[self._oldest(sender, to)])

    def _oldest(self, sender: str, to: str) -> int:
        for index, message in enumerate(self.stage.under_way):
            if (name(message.sender), name(message.to)) == (sender, to):
                return index
        raise AssertionError(f"nothing is under way from {sender} to {to}")

    def do_elect(self, who: str) -> None:
        """Timeouts and deliveries until it leads."""
        for _ in range(5):
            if self._member(who).up.role is not Role.LEADER:
                self.do_timeout(who)
                self.do_deliver()
        assert self._member(who).up.role is Role.LEADER

    def do_ask(self, who: str) -> None:
        """A fetch is sent."""
        self.stage.ask_fetch(self._member(who))

    def do_fetch(self, who: str, count_max: str = "") -> None:
        """A fetch is sent, answered, and its answer taken; nothing else moves."""
        stage = self.stage
        member = self._member(who)
        for each in stage.members.values():
            each.fetch_count_max = int(count_max) if count_max else EVERYTHING
        others = list(stage.under_way)
        stage.ask_fetch(member)
        for _ in ("the request", "the answer"):
            for message in [m for m in stage.under_way if m not in others]:
                if member.node_id in (message.sender, message.to):
                    stage.deliver(message)

    def do_append(self, who: str, *values: str) -> None:
        member = self._member(who)
        assert member.up.accepts_appends, f"{who} does not take appends"
        self.stage.write(member, [Record(member.up.epoch, value) for value in values])
        if not member.slow_disk:
            self.stage.flush(member)

    def do_slow(self, who: str) -> None:
        """From now on its disk flushes on command only."""
        self._member(who).slow_disk = True

    def do_flush(self, who: str) -> None:
        self.stage.flush(self._member(who))

    def do_crash(self, who: str, *point: str) -> None:
        """Now, or before or after the next effect of a kind."""
        if point:
            self._member(who).crash_at = " ".join(point)
        else:
            self.stage.crash(self._member(who))

    def do_restart(self, who: str) -> None:
        self.stage.start(self._member(who))
        self.do_show(who)

    def do_wipe(self, who: str) -> None:
        """Its disk is empty."""
        member = self._member(who)
        self.stage.members[member.node_id] = Member(member.node_id)

    def do_forget(self, who: str) -> None:
        """Its quorum-state is gone."""
        self._member(who).on_disk = v.QuorumState()

    def do_cut(self, who: str) -> None:
        self.stage.cut_off.append(self._member(who).node_id)

    def do_heal(self) -> None:
        self.stage.cut_off.clear()

    def do_snapshot(self, who: str, end_offset: str) -> None:
        self._member(who).log.take_snapshot(int(end_offset))
        self.do_show(who)

    def do_resign(self, who: str) -> None:
        self.stage.step(self._member(who), v.Resign())

    def do_make(self, _way: str, who: str) -> None:
        """`make way n1`: it leads, and cannot write."""
        self.stage.step(self._member(who), v.MakeWay())

    def do_claim(self, who: str, to: str, epoch: str) -> None:
        """Somebody says that it leads an epoch."""
        member, leader = self._member(to), int(who.removeprefix("n"))
        member.replies[0] = lambda answer: self.stage.tell(
            member.node_id, f"answers: {words.answer(answer, ())}"
        )
        self.stage.step(member, v.BeginEpochRequested(0, int(epoch), leader))

    def do_canvass(self, who: str, to: str, epoch: str) -> None:
        """Somebody wants a vote, and claims the best of logs."""
        member, candidate = self._member(to), int(who.removeprefix("n"))
        member.replies[0] = lambda answer: self.stage.tell(
            member.node_id, f"answers: {words.answer(answer, ())}"
        )
        request = v.VoteRequested(0, candidate, int(epoch), int(epoch), 1000, is_pre_vote=False)
        self.stage.step(member, request)

    def do_show(self, *who: str) -> None:
        for each in who or map(name, self.stage.members):
            member = self._member(each)
            if member.raft is None:
                self.stage.tell(member.node_id, f"is down, log: {words.log(member.log)}")
            else:
                self.stage.tell(
                    member.node_id,
                    f"is {member.raft.role.value} in epoch {member.raft.epoch}, "
                    f"committed {member.raft.high_watermark}, log: {words.log(member.log)}",
                )

    def do_describe(self, who: str) -> None:
        for row in self._member(who).up.replicas(self.stage.now):
            kind = "voter" if row.is_voter else "observer"
            ends = "unknown" if row.log_end_offset is None else row.log_end_offset
            self.stage.tell(row.replica_id, f"{kind}, log ends at {ends}")


@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.stem)
def test_story(story: Path) -> None:
    check(story, Play())


def test_each_row_of_the_layer_has_its_story() -> None:
    rows = ("Q01", "Q04", "Q05", "Q06", "Q08", "Q09", "Q12", "Q13")
    told = "\n".join(story.read_text().split("\n\n")[0] for story in STORIES)
    assert [row for row in rows if f"# {row}: " not in told] == []
