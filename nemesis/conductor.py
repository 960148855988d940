"""The conductor: injects the faults of a plan or of a stored schedule, and heals all of them.

A fault is recorded in `Scene.in_force` before it is injected, so `heal_all` knows what to heal
whatever interrupts the run. All times are the running loop's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from harness.cluster.capabilities import Node
from harness.cluster.errors import NoAnswerError, RefusedError
from harness.decisions import Decisions
from harness.doubts import Doubt, DoubtKind
from harness.errors import EnvironmentFailure
from harness.schedule.faults import Fault, kind_of
from harness.schedule.json_form import write
from nemesis import NEMESES, for_fault, unavailable
from nemesis.base import Ground, LapsedError, Moment, Nemesis, NothingToStrikeError, Scene
from nemesis.budget import afford
from nemesis.healing import heal_cluster
from nemesis.outcomes import FaultOutcome, NodeMark, doubts_about, marks_of, sentence

Note = Callable[[str, Any], None]
"""Writes an operation of the nemesis into the history: f and value."""

WHAT_CLUSTERS_DO = (EnvironmentFailure, OSError)
"""Errors expected from a cluster under faults; they are recorded and never crash the run."""
_LOOK_AGAIN_MS = 500.0
_LATE_MS = 1000.0
"""Lateness that is no reason to skip a short fault."""
_HEAL_ATTEMPTS = 3
_HEAL_AGAIN_AFTER_S = 2.0


class Conductor:
    def __init__(
        self,
        scene: Scene,
        nemeses: Sequence[Nemesis],
        decisions: Decisions,
        note: Note,
        ground: Ground | None = None,
    ) -> None:
        """`ground` is None for a stored schedule."""
        self.scene = scene
        scene.on_back = self._write_back
        scene.on_answers = self._write_answers
        self._ground = ground
        self.outcomes: list[FaultOutcome] = []
        """One for every fault begun, and one for every moment without a fault."""
        self._nemeses = {each.name: each for each in nemeses}
        self._decisions = decisions
        self._note = note
        self._menders: dict[str, Nemesis] = {}
        self._unhealed: list[Doubt] = []
        self._is_calm = False
        self._begun_s = 0.0
        self._wanted: tuple[str, ...] = ()
        """Names of nemeses that must inject a fault before the run ends."""

    @property
    def available(self) -> tuple[Nemesis, ...]:
        """Nemeses that can strike in this run; valid once the cluster is up."""
        missing = self.unavailable
        return tuple(each for name, each in self._nemeses.items() if name not in missing)

    @property
    def unavailable(self) -> dict[str, str]:
        """Reason by name why a nemesis cannot strike in this run."""
        return unavailable(tuple(self._nemeses.values()), self.scene.cluster, self._ground)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All faults chosen, whether they took hold or not, for schedule.json."""
        return tuple(each.fault for each in self.outcomes if each.fault is not None)

    @property
    def is_all(self) -> bool:
        """Whether the run was asked for `--nemesis all`."""
        return list(self._nemeses) == list(NEMESES)

    @property
    def doubts(self) -> list[Doubt]:
        """Reasons why the verdict of this run is at best unknown."""
        doubts = doubts_about(self.outcomes, wanted=self._wanted, is_all=self.is_all)
        return [*doubts, *self._unhealed]

    @property
    def is_healed(self) -> bool:
        """Whether `heal_all` has healed every fault and verified the cluster."""
        return self._is_calm and not self._unhealed and not self.scene.in_force

    def marks(self) -> Mapping[str, NodeMark]:
        return marks_of(self.scene)

    def in_force(self) -> tuple[str, ...]:
        return tuple(
            sentence(each)
            for each in self.outcomes
            if each.fault is not None and each.fault.name in self.scene.in_force
        )

    def told(self) -> list[dict[str, Any]]:
        """The outcomes as results.json stores them."""
        return [each.told() for each in self.outcomes]

    async def strike(self, moments: Iterable[Moment]) -> None:
        """Inject what each nemesis chooses at its moment. Returns when the last fault is healed."""
        self._begin()
        self._wanted = tuple(self._nemeses)
        await _together(self._stroke(moment) for moment in moments)

    async def play(self, faults: Iterable[Fault]) -> None:
        """Inject the faults of a stored schedule at their times.

        A fault that exceeds the budget of damage in this run is skipped.
        """
        self._begin()
        await _together(self._fault(for_fault(fault), fault, is_played=True) for fault in faults)

    def _begin(self) -> None:
        self._is_calm = False
        self._begun_s = asyncio.get_running_loop().time()

    async def _stroke(self, moment: Moment) -> None:
        await self._sleep_until(moment.at_ms)
        nemesis = self._nemeses[moment.nemesis]
        skipped = FaultOutcome(nemesis=nemesis.name, moment=moment.name, was_alone=False)
        try:
            faults = await self._chosen(nemesis, moment, skipped)
        except (NothingToStrikeError, *WHAT_CLUSTERS_DO) as nothing:
            self._skip(skipped, _said(nothing))
            return
        await _together(self._fault(nemesis, fault) for fault in faults)

    async def _chosen(
        self, nemesis: Nemesis, moment: Moment, skipped: FaultOutcome
    ) -> tuple[Fault, ...]:
        """Choose the faults of a moment; without a target, try again in its first half.

        By then a leader may be elected, or a node may be back. A fault that is chosen late begins
        late and ends at its planned time. `skipped.was_alone` is set if no other fault could have
        been the reason.
        """
        end_ms, now_ms = moment.at_ms + moment.for_ms, moment.at_ms
        for attempt in count():
            again = f" again {attempt}" if attempt else ""
            dice = self._decisions.random("nemesis_choice", f"{moment.name}{again}")
            rest = replace(moment, at_ms=now_ms, for_ms=round(end_ms - now_ms, 1))
            is_alone, begun = not self.scene.in_force, self.scene.begun
            try:
                reason = nemesis.why_not(self.scene.cluster)
                if reason is not None:
                    raise NothingToStrikeError(reason)
                return await nemesis.choose(self.scene, rest, dice)
            except (NothingToStrikeError, *WHAT_CLUSTERS_DO):
                # Another fault may have begun while `choose` queried the cluster.
                skipped.was_alone |= is_alone and self.scene.begun == begun
                if self._now_ms() + _LOOK_AGAIN_MS > moment.at_ms + moment.for_ms / 2:
                    raise
            await asyncio.sleep(_LOOK_AGAIN_MS / 1000)
            now_ms = self._now_ms()
        raise AssertionError("a count never ends")

    async def _fault(self, nemesis: Nemesis, fault: Fault, *, is_played: bool = False) -> None:
        await self._sleep_until(fault.at_ms)
        outcome = FaultOutcome(nemesis=nemesis.name, moment=fault.name, fault=fault)
        late_ms = self._now_ms() - fault.at_ms
        if fault.for_ms is not None and late_ms > max(fault.for_ms, _LATE_MS):
            # The load may be over: a fault that begins now would be healed unnoticed.
            outcome.was_alone = not self.scene.in_force
            self._skip(outcome, f"it was due {late_ms / 1000:.1f} s before and would be over")
            return
        self.outcomes.append(outcome)
        self.scene.begin(fault)
        self._menders[fault.name] = nemesis
        self._write("start", nemesis.name, {"kind": kind_of(fault), **write(fault)})
        outcome.began_ms = self._now_ms()
        told = await self._inject(nemesis, fault, outcome, is_played=is_played)
        outcome.was_alone = fault.name not in self.scene.accompanied
        outcome.took_hold_ms = self._now_ms()
        self._write("start", nemesis.name, {"fault": fault.name, **told})
        if fault.for_ms is None:
            return
        if outcome.proof:
            await self._sleep_until(fault.at_ms + fault.for_ms)
        await self._heal(fault, outcome)

    async def _inject(
        self, nemesis: Nemesis, fault: Fault, outcome: FaultOutcome, *, is_played: bool
    ) -> dict[str, str]:
        """The proof, or the reason why there is none, as the history stores it."""
        try:
            if is_played:
                await afford(self.scene, fault)
            outcome.proof = await nemesis.inject(self.scene, fault)
            return {"proof": outcome.proof}
        except (NothingToStrikeError, NoAnswerError) as nothing:
            outcome.skipped = _said(nothing)
        except RefusedError as refusal:
            # Another fault may be the reason for the refusal.
            if fault.name in self.scene.accompanied:
                outcome.skipped = str(refusal)
            else:
                outcome.missed = str(refusal)
        except WHAT_CLUSTERS_DO as failure:
            outcome.missed = _said(failure)
        return {"missed": outcome.missed} if outcome.missed else {"skipped": outcome.skipped}

    async def _heal(self, fault: Fault, outcome: FaultOutcome) -> None:
        """Heal one fault; a failure is retried by `heal_all`."""
        nemesis = self._menders[fault.name]
        self._write("stop", nemesis.name, {"fault": fault.name})
        self.scene.ending.add(fault.name)
        try:
            await nemesis.heal(self.scene, fault)
        except LapsedError as lapsed:
            outcome.lapsed = str(lapsed)
            self._write("stop", nemesis.name, {"fault": fault.name, "lapsed": outcome.lapsed})
        except WHAT_CLUSTERS_DO as failure:
            outcome.not_healed = _said(failure)
            self._write("stop", nemesis.name, {"fault": fault.name, "failed": outcome.not_healed})
            return
        self.scene.end(fault)
        outcome.not_healed = ""
        outcome.healed_ms = self._now_ms()
        self._write("stop", nemesis.name, {"fault": fault.name, "healed": True})

    async def _sleep_until(self, at_ms: float) -> None:
        left_ms = at_ms - self._now_ms()
        if left_ms > 0:
            await asyncio.sleep(left_ms / 1000)

    def _now_ms(self) -> float:
        return round((asyncio.get_running_loop().time() - self._begun_s) * 1000, 1)

    def _skip(self, outcome: FaultOutcome, reason: str) -> None:
        outcome.skipped = reason
        self.outcomes.append(outcome)
        self._write("start", outcome.nemesis, {"moment": outcome.moment, "skipped": reason})

    def _write(self, verb: str, nemesis: str, value: dict[str, Any]) -> None:
        """Note an operation of a nemesis, which is named without its variant and target."""
        self._note(f"{verb}-{nemesis.partition(':')[0].partition('@')[0]}", value)

    def _write_back(self, fault: Fault, node: Node) -> None:
        self._write("back", self._menders[fault.name].name, {"fault": fault.name, "back": node})

    def _write_answers(self, fault: Fault, answers: Mapping[str, int]) -> None:
        name = self._menders[fault.name].name
        self._write("answered", name, {"fault": fault.name, "answers": dict(answers)})

    async def heal_all(self) -> None:
        """Heal every fault, start every node and verify; what remains is a doubt.

        Safe at any time, also before the first fault, after a cancellation, and twice.
        """
        if self._is_calm and not self.scene.in_force:
            return
        for attempt in range(_HEAL_ATTEMPTS):
            if attempt:
                await asyncio.sleep(_HEAL_AGAIN_AFTER_S)
            self.scene.ending.update(self.scene.in_force)
            outcomes = {each.fault.name: each for each in self.outcomes if each.fault is not None}
            await _together(
                self._heal(fault, outcomes[name])
                for name, fault in list(self.scene.in_force.items())
            )
            self._unhealed = await heal_cluster(self.scene.cluster)
            if not self._unhealed and not self.scene.in_force:
                self._is_calm = True
                return
        self._unhealed += [
            Doubt(
                DoubtKind.NOT_HEALED,
                name,
                f"{name}: {outcomes[name].not_healed}",
            )
            for name in self.scene.in_force
        ]


def _said(failure: Exception) -> str:
    """Never empty, because an outcome with an empty reason counts as one without a failure."""
    return str(failure) or type(failure).__name__


async def _together(deeds: Iterable[Awaitable[None]]) -> None:
    """Run all; the first unexpected exception cancels the others and is raised itself."""
    try:
        async with asyncio.TaskGroup() as group:
            for deed in deeds:
                group.create_task(_awaited(deed))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _awaited(deed: Awaitable[None]) -> None:
    await deed
