"""Keys of histories in JSON, where the key of a map is a text whatever it was.

`"11"` in the map of a poll is the key 11 of the sends. Which is meant is known only at the end: it
is the text if the history says "11", and never 11, where a key stands by itself.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.history import kinds, schema
from harness.history.dictionaries import Keys
from harness.history.json_text import encode
from harness.history.op import Key
from harness.history.tables import Tables

_INTEGER = re.compile(r"-?[1-9][0-9]{0,18}|0").fullmatch


class _InMap(NamedTuple):
    text: str


class JsonKeys(Keys):
    """Gives such texts an id of their own, until all keys are known."""

    def id_of(self, key: Key, kind: int) -> int:
        if kind not in kinds.KEYED_BY_MAP or type(key) is not str or not _INTEGER(key):
            return super().id_of(key, kind)
        in_map = _InMap(key)
        found = self._ids.get(in_map)
        return found if found is not None else self._add(in_map, encode(key))

    def resolved(self, tables: Tables) -> Tables:
        """Each key once, as it was meant."""
        if not any(isinstance(key, _InMap) for key in self._ids):
            return tables
        texts = [encode(self._meant(key)) for key in self._ids]
        encoded = pa.array(texts, pa.string()).dictionary_encode()
        count = len(encoded.dictionary)
        keys = pa.table([pa.array(range(count), pa.int32()), encoded.dictionary], schema.KEYS)
        number = schema.ELEMENTS.get_field_index("key")
        taken = encoded.indices.take(tables.elements["key"].combine_chunks())
        elements = tables.elements.set_column(number, schema.ELEMENTS.field("key"), taken)
        return tables._replace(elements=elements, keys=keys)

    def _meant(self, key: object) -> object:
        if not isinstance(key, _InMap):
            return key
        is_text = key.text in self._ids and int(key.text) not in self._ids
        return key.text if is_text else int(key.text)
