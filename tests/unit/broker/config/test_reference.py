"""The page on configuration says what the code does."""

from pathlib import Path

from broker.config.reference import configuration_page

_PAGE = Path(__file__).parents[4] / "docs" / "reference" / "configuration.md"


def test_the_page_is_what_the_tables_say() -> None:
    assert _PAGE.read_text() == configuration_page(), (
        "run: python -m broker.config.reference > docs/reference/configuration.md"
    )
