"""Feeds the decoder with atheris, for as long as one likes; no part of any test lane.

    pip install atheris
    python tests/fuzz/fuzz_frames.py corpus/ -max_total_time=600

Each input is a frame without its length: a header, then the body that the header promises.
Anything but a message or MalformedMessageError is a finding; atheris writes the input to a file
`crash-*`, and the same command with that file as its argument shows it again.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from broker.protocol import codec, frames
from broker.protocol.apis import API_VERSIONS
from broker.protocol.errors import MalformedMessageError, UnsupportedVersionError


def decode_frame(data: bytes) -> None:
    view = memoryview(data)
    try:
        header, offset = frames.decode_request_header(view)
        codec.decode_whole_request(header.api_key, header.api_version, view, offset)
    except (MalformedMessageError, UnsupportedVersionError):
        return


def decode_any_response(data: bytes) -> None:
    """The first two bytes choose the API and its version, the rest is the body."""
    if len(data) < 2:
        return
    keys = list(API_VERSIONS)
    key = keys[data[0] % len(keys)]
    first, last = API_VERSIONS[key]
    try:
        codec.decode_response(key, first + data[1] % (last + 1 - first), data, 2)
    except MalformedMessageError:
        return


def fuzz(data: bytes) -> None:
    decode_frame(data)
    decode_any_response(data)


def main() -> None:
    atheris: Any = importlib.import_module("atheris")
    atheris.instrument_all()
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
