"""A graph under construction: architectures draw on it, `rondo.models.grow` carries on with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rondo.models.graph import Node, Shape


@dataclass(slots=True)
class Sketch:
    """A graph under construction: `add` appends a node that reads the newest value."""

    input_kind: str
    input_shape: Shape
    nodes: list[Node] = field(default_factory=list)
    made: int = 0

    @property
    def newest(self) -> str:
        """The name of the newest value."""
        return self.nodes[-1].name if self.nodes else "x"

    def shape(self, name: str) -> Shape:
        """The shape of a value."""
        return next((n.shape for n in self.nodes if n.name == name), self.input_shape)

    @property
    def now(self) -> Shape:
        """The shape of the newest value."""
        return self.nodes[-1].shape if self.nodes else self.input_shape

    def number(self) -> int:
        """The number of the next node; none is given twice."""
        self.made += 1
        return self.made

    def add(
        self,
        op: str,
        shape: Shape | None = None,
        inputs: tuple[str, ...] = (),
        stem: str = "",
        **attrs: int | str,
    ) -> str:
        """Append a node and give the name of its value, of the newest value's shape unless another
        is given."""
        return self.put(op, shape or self.now, inputs or (self.newest,), stem, attrs)

    def put(
        self,
        op: str,
        shape: Shape,
        inputs: tuple[str, ...],
        stem: str,
        attrs: Mapping[str, int | str],
    ) -> str:
        """Append a node and give the name of its value."""
        number = self.number()
        owned = f"{stem}{number}" if stem else ""
        self.nodes.append(Node(f"h{number}", op, inputs, shape, owned, tuple(attrs.items())))
        return f"h{number}"

    def size(self, axis: int) -> int:
        """The newest value's known size along an axis."""
        found = self.now[axis]
        assert isinstance(found, int), f"axis {axis} of {self.now} differs from call to call"
        return found

    def dense(self, outside: int, name: str = "linear") -> str:
        """A linear layer on the last axis."""
        shape = (*self.now[:-1], outside)
        return self.add(name, shape, stem="linear", inside=self.size(-1), outside=outside)

    def conv(
        self, outside: int, kernel: int = 3, stride: int = 1, groups: int = 1, source: str = ""
    ) -> str:
        """A padded two-dimensional convolution; a side of n becomes n over the stride."""
        read = source or self.newest
        batch, *known = self.shape(read)
        channels, *sides = (int(size) for size in known)
        pad = kernel // 2 if kernel != stride or kernel == 1 else 0
        return self.add(
            "conv2d",
            (batch, outside, *((side + 2 * pad - kernel) // stride + 1 for side in sides)),
            (read,),
            "conv",
            inside=channels,
            outside=outside,
            kernel=kernel,
            stride=stride,
            pad=pad,
            groups=groups,
            fan=channels // groups,
        )

    def normed_conv(
        self, outside: int, kernel: int = 3, stride: int = 1, groups: int = 1, act: str = "relu"
    ) -> str:
        """Convolution, batch norm and, unless `act` is empty, an activation."""
        self.conv(outside, kernel, stride, groups)
        self.add("batch_norm2d", stem="norm", outside=outside)
        return self.add(act) if act else self.newest

    def pool(self, op: str = "max_pool2d") -> str:
        """Halve both sides of an image."""
        batch, channels, height, width = self.now
        assert isinstance(height, int) and isinstance(width, int)
        return self.add(op, (batch, channels, height // 2, width // 2))

    def joined(self, *values: str) -> str:
        """Concatenate images along their channels."""
        first = self.shape(values[0])
        channels = sum(int(self.shape(v)[1]) for v in values)
        return self.add("join_channels", (first[0], channels, *first[2:]), inputs=values)

    def plus(self, *values: str) -> str:
        """Add the newest value and an earlier one, or two given ones."""
        pair = values if len(values) == 2 else (self.newest, *values)
        return self.add("add", self.shape(pair[0]), inputs=pair)

    def classifier(self, classes: int = 3) -> str:
        """Global average pooling and a linear layer."""
        self.add("global_pool", self.now[:2])
        return self.dense(classes)
