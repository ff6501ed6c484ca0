"""Factories of models as users have them, sound and unsound."""

from __future__ import annotations

import os

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int, p: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.drop = nn.Dropout(p)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, width = x.shape
        split = self.qkv(self.norm(x)).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(*split, is_causal=True)
        return x + self.drop(self.out(mixed.transpose(1, 2).reshape(rows, length, width)))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.blocks = nn.ModuleList([Block(8, 2, 0.1) for _ in range(2)])
        self.head = nn.Linear(8, 20)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def transformer():
    return Transformer(), torch.randint(0, 20, (2, 6))


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.conv(image))).mean((2, 3))


def images():
    return Images(), (torch.randn(2, 3, 8, 8),)


def images_alone():
    return Images()


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 8, batch_first=True)

    def forward(self, x: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]):
        return self.lstm(x, state)


def recurrent():
    return Recurrent(), (torch.randn(2, 5, 4), (torch.zeros(1, 2, 8), torch.zeros(1, 2, 8)))


def scaled(x: torch.Tensor, gain: float, flip: bool = False) -> torch.Tensor:
    return (-x if flip else x) * gain


def function():
    return scaled, {"x": torch.randn(4, 3), "gain": 2.0, "flip": False}


def overlapped(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Wrong under aot_eager once its arguments overlap: pytorch#139789."""
    p.mul_(2)
    return p + q


def overlapping():
    return overlapped, torch.ones(4), torch.ones(4)


def raising():
    raise FileNotFoundError("weights.pt is not there")


def nonsense():
    return 5, torch.ones(3)


class Noisy(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + int.from_bytes(os.urandom(2), "little")


def noisy():
    return Noisy(), torch.ones(3)


class Moody(nn.Module):
    """Differs from run to run in eval mode alone."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if self.training else x + int.from_bytes(os.urandom(2), "little")


def moody():
    return Moody(), torch.ones(3)


class Broken(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ torch.ones(7)


def broken():
    return Broken(), torch.ones(3)


class Printing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        print("hello from the model")
        return x + 1


def printing():
    return Printing(), torch.ones(3)


class Hungry(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ones(1 << 30).sum() + x


def hungry():
    return Hungry(), torch.ones(3)
