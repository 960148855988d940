"""Writes the example page and its pictures, from runs of today's code.

    .venv/bin/python docs/pictures.py

Run it in a clean checkout: the page names the commit. It needs chromium. The runs are simulated, so
that they are the same wherever this is done, but for their times of day:

    docs/examples/lost-write.html     the page of a run that lost acknowledged records
    docs/images/report.png            its beginning: verdict, the whole run, causes
    docs/images/report-proof.png      one proof: operations, offsets, timeline, messages
    docs/images/report-cluster.png    a valid run over time, with clock faults
    docs/images/report-members.png    a run with consumer groups: who owned what, of the tutorial
    docs/images/serve.png             the list of these runs and some others
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
EXAMPLE = ROOT / "docs" / "examples" / "lost-write.html"
LOST_WRITE = (
    "--unsafe --nemesis partition:leader --nodes 3 --concurrency 3 --nemesis-interval 8 --rate 12 "
    "--burst 1 --time-limit 10 --seed 1"
)
VALID = "--nemesis kill,clock --nodes 3 --concurrency 3 --rate 60 --time-limit 30 --seed 5"
MEMBERS = (
    "-w group --nemesis churn:kill@one --nodes 3 --concurrency 9 --rate 120 --time-limit 30 "
    "--seed 4"
)
OTHERS = (
    "-w append --unsafe --nemesis partition:leader --rate 50 --time-limit 12 --seed 3",
    "--nemesis none --rate 30 --time-limit 10 --acks 0 --disable-idempotence --seed 2",
)


def run(store: Path, options: str) -> Path:
    """A simulated run with these options; its directory."""
    words = ["test", "--on", "sim", *options.split(), "--store", str(store), "--quiet"]
    done = subprocess.run([sys.executable, "-m", "harness", *words], cwd=ROOT)
    if done.returncode not in (0, 1, 2):
        sys.exit(f"harness {' '.join(words)} ended with {done.returncode}")
    return (store / "latest").resolve()


@contextmanager
def served(store: Path) -> Iterator[str]:
    from harness.store.store import Store
    from reports.server import Served

    with Served(store, lambda: list(Store(store).runs()), "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def picture(page: Page, name: str, selectors: Sequence[str]) -> None:
    """From the top of the first of these elements to the bottom of the last one."""
    boxes = [box for each in selectors if (box := page.locator(each).first.bounding_box())]
    top = min(box["y"] for box in boxes)
    bottom = max(box["y"] + box["height"] for box in boxes)
    width = page.viewport_size["width"] if page.viewport_size else 1120
    clip = {"x": 0, "y": max(0, top - 12), "width": width, "height": bottom - top + 24}
    page.screenshot(path=IMAGES / name, full_page=True, clip=clip)  # type: ignore[arg-type]
    print(IMAGES / name)


def pictures(browser: Browser, lost: Path, valid: Path, members: Path, store: Path) -> None:
    page = browser.new_page(viewport={"width": 1120, "height": 1000})
    page.goto((lost / "report.html").as_uri())
    picture(page, "report.png", ["header", "#cause-2"])
    picture(page, "report-proof.png", ["#lost-write", "details.one >> nth=0"])
    page.goto((valid / "report.html").as_uri())
    picture(page, "report-cluster.png", ["#cluster"])
    page.goto((members / "report.html").as_uri())
    picture(page, "report-members.png", ["#run"])
    with served(store) as address:
        page.goto(address)
        picture(page, "serve.png", ["h1", "#runs"])


def main() -> None:
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        store = Path(directory) / "store"
        for options in OTHERS:
            run(store, options)
        members = run(store, MEMBERS)
        valid, lost = run(store, VALID), run(store, LOST_WRITE)
        shutil.copyfile(lost / "report.html", EXAMPLE)
        print(EXAMPLE)
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        pictures(browser, lost, valid, members, store)
        browser.close()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
