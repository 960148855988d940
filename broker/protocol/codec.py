"""Encodes and decodes Kafka's messages. Everything is compiled at first use and then kept.

Decoders get the whole frame and the offset where the message begins: the message may reach up
to the frame's end. They raise `MalformedMessageError` and nothing else for bytes that are wrong.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from broker.protocol import compile_decode, compile_encode, messages
from broker.protocol.compile_decode import (
    BoundedDecoder,
    Decoder,
    DecoderForm,
    SlicedDecoder,
    build_decoder,
)
from broker.protocol.compile_encode import Encoder, EncoderForm, SlicedEncoder, build_encoder
from broker.protocol.errors import MalformedMessageError, UnsupportedVersionError
from broker.protocol.primitives import Readable
from broker.protocol.schema import Api, Message
from broker.protocol.schema_text import schema

Chunk = Any
"""Bytes, or whatever stood in a `records` field: anything with a length, such as a FileSlice."""


_Built = TypeVar("_Built")


@cache
def decoder(name: str, version: int) -> Decoder:
    """The decoder of a message by its name, such as `FetchResponse`."""
    return _decoder(name, version, compile_decode.PLAIN)


@cache
def encoder(name: str, version: int) -> Encoder:
    return _encoder(name, version, compile_encode.PLAIN)


@cache
def request_decoder(api_key: int, version: int) -> Decoder:
    return decoder(_api(api_key).request.name, version)


@cache
def request_encoder(api_key: int, version: int) -> Encoder:
    return encoder(_api(api_key).request.name, version)


@cache
def response_decoder(api_key: int, version: int) -> Decoder:
    return decoder(_api(api_key).response.name, version)


@cache
def response_encoder(api_key: int, version: int) -> Encoder:
    return encoder(_api(api_key).response.name, version)


@cache
def bounded_request_decoder(api_key: int, version: int) -> BoundedDecoder:
    """For requests of strangers: refuses more elements than it is told to allow."""
    return _decoder(_api(api_key).request.name, version, compile_decode.BOUNDED)


@cache
def sliced_request_decoder(api_key: int, version: int) -> SlicedDecoder:
    """Same as `bounded_request_decoder`, in steps, for requests that take long."""
    return _decoder(_api(api_key).request.name, version, compile_decode.SLICED)


@cache
def sliced_request_encoder(api_key: int, version: int) -> SlicedEncoder:
    return _encoder(_api(api_key).request.name, version, compile_encode.SLICED)


@cache
def sliced_response_decoder(api_key: int, version: int) -> SlicedDecoder:
    return _decoder(_api(api_key).response.name, version, compile_decode.SLICED)


@cache
def sliced_response_encoder(api_key: int, version: int) -> SlicedEncoder:
    return _encoder(_api(api_key).response.name, version, compile_encode.SLICED)


def decode_request(api_key: int, version: int, view: Readable, offset: int) -> tuple[Any, int]:
    """The message and the offset after it."""
    return request_decoder(api_key, version)(view, offset)


def decode_response(api_key: int, version: int, view: Readable, offset: int) -> tuple[Any, int]:
    return response_decoder(api_key, version)(view, offset)


def decode_whole_request(api_key: int, version: int, view: Readable, offset: int) -> Any:
    """Refuses bytes after the request, as a server should: the peer means something else."""
    message, end = request_decoder(api_key, version)(view, offset)
    if end != len(view):
        raise MalformedMessageError(
            f"{len(view) - end} bytes left after {type(message).__name__} v{version}"
        )
    return message


def encode_request(api_key: int, version: int, message: Any) -> list[Chunk]:
    return request_encoder(api_key, version)(message)


def encode_response(api_key: int, version: int, message: Any) -> list[Chunk]:
    return response_encoder(api_key, version)(message)


def _decoder(name: str, version: int, form: DecoderForm[_Built]) -> _Built:
    message = _known(name, version)
    return build_decoder(message, version, messages.classes_of(message), form)


def _encoder(name: str, version: int, form: EncoderForm[_Built]) -> _Built:
    message = _known(name, version)
    return build_encoder(message, version, messages.classes_of(message), form)


def _api(api_key: int) -> Api:
    api = schema().apis.get(api_key)
    if api is None:
        raise UnsupportedVersionError(f"no api has the key {api_key}")
    return api


def _known(name: str, version: int) -> Message:
    message = schema().messages[name]
    if version not in message.versions:
        raise UnsupportedVersionError(
            f"{name} has no version {version}, only"
            f" {message.versions.first} to {message.versions.last}"
        )
    return message
