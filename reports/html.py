"""A stored run as one page that needs nothing else: report.html."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.store.inside import write_inside
from reports.limits import Limits
from reports.material import Material, load
from reports.model import Page, page
from reports.placing import Found, placed_causes

if TYPE_CHECKING:
    from jinja2 import Environment

BYTES_MAX: Final = 5_000_000
NAME: Final = "report.html"
_SIZES = (Limits(), Limits(3, 8, 80, 60, 500), Limits(1, 4, 40, 20, 100))
"""From as much as is good to read, down to what always fits."""
_HERE = Path(__file__).parent / "templates"


def write_report(directory: Path) -> Path:
    """Writes the page of this run beside its history."""
    material = load(directory)
    return write_page(material, placed_causes(material))


def write_page(material: Material, found: Found) -> Path:
    write_inside(material.directory, NAME, _text(material, found))
    return material.directory / NAME


def report(directory: Path) -> str:
    material = load(directory)
    return _text(material, placed_causes(material))


def _text(material: Material, found: Found) -> str:
    for limits in _SIZES:
        text = render(page(material, found, limits))
        if len(text.encode()) <= BYTES_MAX:
            return text
    raise AssertionError(f"even the least of {material.directory} is over {BYTES_MAX} bytes")


def render(shown: Page) -> str:
    return environment().get_template("report.html.j2").render(page=shown)


def environment() -> Environment:
    """Every value is text: whatever it holds, it is escaped. Only our own files are markup."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def own(name: str) -> Markup:
        return Markup((_HERE / name).read_text(encoding="utf-8"))  # noqa: S704

    def drawn(svg: str) -> Markup:
        # matplotlib has escaped every label.
        return Markup(svg)  # noqa: S704

    made.globals.update(own=own, drawn=drawn)
    made.filters["number"] = _number
    return made


def _number(value: Any) -> str:
    return f"{value:,}"
