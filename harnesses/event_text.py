"""Tables of what events do, as text: one entry a kind, one form a value or one for all values.

A harness fills an `EventTable` with `alike` and `each`; emission asks it for the step of an event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rondo.models.graph import Graph
from rondo.testcase import Event
from rondo.vocabulary import Vocabulary

_ANY = "*"


@dataclass(frozen=True, slots=True)
class EventText:
    """What an event says and the lines of its step, both with fields to fill in."""

    says: str
    lines: tuple[str, ...]


Entry = dict[str, dict[str, EventText]]


def alike(kind: str, says: str, *lines: str) -> Entry:
    """An entry whose values all read alike."""
    return {kind: {_ANY: EventText(says, lines)}}


def each(kind: str, **entries: tuple[str, ...]) -> Entry:
    """An entry with one (says, line, line ...) a value."""
    return {kind: {value: EventText(text[0], text[1:]) for value, text in entries.items()}}


@dataclass(frozen=True, slots=True)
class EventTable:
    """The text of every kind of event that a target has."""

    entries: Mapping[str, Mapping[str, EventText]]

    def text(self, kind: str, value: str) -> EventText:
        """The text of an event's value."""
        forms = self.entries[kind]
        return forms.get(value) or forms[_ANY]

    def filled(self, event: Event, fields: Mapping[str, str]) -> tuple[str, list[str]]:
        """The sentence and the lines of an event."""
        text = self.text(event.kind, event.value)
        sentence = text.says.format(**fields)
        return sentence[0].upper() + sentence[1:], [line.format(**fields) for line in text.lines]


def carrier(graph: Graph, vocabulary: Vocabulary, event: Event) -> tuple[str, str]:
    """The stem that an event acts on, or the empty string, and another stem of its kind."""
    stems = graph.targets(vocabulary.event[event.kind].needs)
    stem = stems[event.target % len(stems)] if stems else ""
    submodules = graph.targets("submodule")
    if event.value == "submodule" and not stem:
        stem = submodules[event.target % len(submodules)]
    return stem, next((other for other in stems if other != stem), stem)
