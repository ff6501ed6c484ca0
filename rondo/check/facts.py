"""What a child says of a user's model: its inputs, and what may be worth changing around it.

Framework-free records, sent as JSON. They hold candidates; `rondo.check.trial` finds out which of
them eager execution takes.
"""

from __future__ import annotations

import msgspec


class Leaf(msgspec.Struct, frozen=True):
    """One argument, or one entry of a nested argument.

    `name` is its variable in emitted programs, `path` the expression below `inputs` that gives the
    example. `kind` is tensor, scalar (`text` is its literal) or other, which is passed as it is.
    """

    name: str
    path: str
    kind: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    text: str = ""
    floating: bool = False
    requires_grad: bool = False


class Axis(msgspec.Struct, frozen=True):
    """Axes that may change together: members are (leaf, axis), all of the same given size."""

    name: str
    members: tuple[tuple[int, int], ...]
    size: int
    others: tuple[int, ...]


class Attribute(msgspec.Struct, frozen=True):
    """A plain attribute of the module at `path` ("" for the model), as literals."""

    path: str
    name: str
    given: str
    others: tuple[str, ...]

    @property
    def label(self) -> str:
        """Its dotted name."""
        return f"{self.path}.{self.name}" if self.path else self.name


class Facts(msgspec.Struct, frozen=True):
    """A user's model as inspection sees it.

    `trouble` says why it cannot be used, if so, and `trace` holds the end of the user's traceback.
    `form` says what the factory gives: the model `alone`, with `one` argument, as a `pair` with a
    tuple or dict of arguments, or with `several` things. `positional` and `keywords` are the
    argument expressions of a call over the leaves' names; `unseen` names parts of the output that
    are compared by type only.
    """

    trouble: str = ""
    trace: str = ""
    name: str = ""
    module: bool = False
    form: str = "pair"
    leaves: tuple[Leaf, ...] = ()
    positional: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    axes: tuple[Axis, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    switches: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()
    numbers: int = 0
    unseen: tuple[str, ...] = ()
