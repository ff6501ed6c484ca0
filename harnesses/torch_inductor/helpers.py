"""Functions that emitted PyTorch programs are written with; a program holds those that it uses.

A later one may use an earlier one.
"""

from __future__ import annotations

HELPERS = {
    "tensor": """
def tensor(shape, seed, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float32, device="cpu").to(dtype)
""",
    "integers": """
def integers(shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 8, shape, generator=generator, device="cpu")
""",
    "backward": """
def backward(out, times=1, only_first=False):
    leaves = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor) and t.requires_grad]
    for left in reversed(range(times if leaves else 0)):
        total = sum(leaf.sum() for leaf in leaves[: 1 if only_first else None])
        total.backward(retain_graph=left > 0)
""",
    "in_thread": """
def in_thread(call):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()
""",
    "ten_times": """
def ten_times(module, args, out):
    return tree_map(lambda t: t * 10 if isinstance(t, torch.Tensor) else t, out)
""",
    "doubled": """
def doubled(module, args):
    return tuple(arg * 2 if i == 0 else arg for i, arg in enumerate(args))
""",
    "make_fn": """
def make_fn(rate):
    def fn(h, rate=rate):
        return h * rate

    return fn
""",
    "split_heads": """
def split_heads(h, heads):
    return h.unflatten(-1, (heads, -1)).transpose(1, 2)
""",
    "attend": """
def attend(query, key, value, heads, groups, causal, mask=None):
    q, k, v = split_heads(query, heads), split_heads(key, groups), split_heads(value, groups)
    k, v = (t.repeat_interleave(heads // groups, 1) for t in (k, v))
    if causal:
        rows, columns = q.shape[2], k.shape[2]
        mask = torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows)
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)
    return out.transpose(1, 2).flatten(2)
""",
    "relative_bias": """
def relative_bias(table, length, causal, dtype):
    places = torch.arange(length)
    bias = table[:, places[None] - places[:, None] + 16].to(dtype)
    return bias.masked_fill(places[None] > places[:, None], -1e4) if causal else bias
""",
    "rotary": """
def rotary(h, heads):
    h = split_heads(h, heads)
    half = h.shape[-1] // 2
    rates = 100.0 ** (-torch.arange(half, dtype=h.dtype) / half)
    angles = torch.arange(h.shape[2], dtype=h.dtype)[:, None] * rates
    sine, cosine = angles.sin(), angles.cos()
    left, right = h.chunk(2, -1)
    turned = [left * cosine - right * sine, right * cosine + left * sine]
    return torch.cat(turned, -1).transpose(1, 2).flatten(2)
""",
}
"""Helper functions by name; a program holds those that it uses."""
