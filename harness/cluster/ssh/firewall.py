"""Scripts for a host's own firewall: from whom it hears nothing, and to whom it says nothing.

All rules of ours are in a table, or in chains, of our own. To set rules is to replace them, and to
heal is to take the table away, so that nothing of anybody else's is touched. What comes and goes
through the port of sshd is let be: whoever cut that could never heal.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

_TABLE = "log_trial"
_CHAINS = {"INPUT": "LOG_TRIAL_IN", "OUTPUT": "LOG_TRIAL_OUT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """What one host is cut off from, by the addresses of others."""

    hears_not: Collection[str] = ()
    tells_not: Collection[str] = ()
    ssh_port: int = 22


def set_rules(command: str, cuts: Cuts) -> str:
    """A script for root; `command` is nft or iptables."""
    return _nft(cuts) if command == "nft" else _iptables(cuts)


def no_rules(command: str) -> str:
    """Also right where there are none."""
    if command == "nft":
        return f"nft -f - <<'END'\nadd table inet {_TABLE}\ndelete table inet {_TABLE}\nEND\n"
    return "".join(
        f"while iptables -w -D {hook} -j {chain} 2>/dev/null; do :; done\n"
        f"iptables -w -F {chain} 2>/dev/null || :\n"
        f"iptables -w -X {chain} 2>/dev/null || :\n"
        for hook, chain in _CHAINS.items()
    )


def rules_left(command: str) -> str:
    """A script that prints something only as long as rules of ours are in force."""
    if command == "nft":
        return f"nft list table inet {_TABLE} 2>/dev/null || :\n"
    return "iptables -w -S | grep LOG_TRIAL || :\n"


def _nft(cuts: Cuts) -> str:
    rules = [
        f"add table inet {_TABLE}",
        f"delete table inet {_TABLE}",
        f"add table inet {_TABLE}",
    ]
    sides = (
        ("input", "dport", "saddr", cuts.hears_not),
        ("output", "sport", "daddr", cuts.tells_not),
    )
    for hook, port, address, others in sides:
        chain = f"inet {_TABLE} {hook}"
        rules.append(f"add chain {chain} {{ type filter hook {hook} priority -10; }}")
        rules.append(f"add rule {chain} tcp {port} {cuts.ssh_port} accept")
        if others:
            rules.append(f"add rule {chain} ip {address} {{ {', '.join(sorted(others))} }} drop")
    return "\n".join(["nft -f - <<'END'", *rules, "END", ""])


def _iptables(cuts: Cuts) -> str:
    """Filled first and then put into force; to name a chain empties it."""
    incoming, outgoing = _CHAINS["INPUT"], _CHAINS["OUTPUT"]
    rules = ["*filter", f":{incoming} - [0:0]", f":{outgoing} - [0:0]"]
    rules.append(f"-A {incoming} -p tcp --dport {cuts.ssh_port} -j RETURN")
    rules.append(f"-A {outgoing} -p tcp --sport {cuts.ssh_port} -j RETURN")
    rules += [f"-A {incoming} -s {other} -j DROP" for other in sorted(cuts.hears_not)]
    rules += [f"-A {outgoing} -d {other} -j DROP" for other in sorted(cuts.tells_not)]
    script = ["iptables-restore -w --noflush <<'END'", *rules, "COMMIT", "END"]
    for hook, chain in _CHAINS.items():
        script.append(f"iptables -w -C {hook} -j {chain} 2>/dev/null || ")
        script[-1] += f"iptables -w -I {hook} -j {chain}"
    return "\n".join([*script, ""])
