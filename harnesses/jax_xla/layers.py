"""Layers that emitted JAX programs are written with: JAX itself has functions, no modules.

A later one may use an earlier one; `helpers` joins them to the rest.
"""

from __future__ import annotations

HELPERS = {
    "standardised": """
def standardised(h, axes=-1):
    mean, var = h.mean(axes, keepdims=True), h.var(axes, keepdims=True)
    return (h - mean) / jnp.sqrt(var + 1e-5)
""",
    "scaled_to_one": """
def scaled_to_one(h):
    return h * jax.lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-5)
""",
    "group_normed": """
def group_normed(p, h):
    groups = h.reshape(h.shape[0], 2, h.shape[1] // 2, *h.shape[2:])
    wide = (-1,) + (1,) * (h.ndim - 2)
    out = standardised(groups, tuple(range(2, groups.ndim))).reshape(h.shape)
    return out * p["w"].reshape(wide) + p["b"].reshape(wide)
""",
    "convolved": """
def convolved(p, h, stride=1, pad=1, groups=1, dilation=1, spread=1):
    return p["b"] + jax.lax.conv_general_dilated(
        h.astype(p["w"].dtype),
        p["w"],
        window_strides=(stride, stride),
        padding=[(pad, pad), (pad, pad)],
        lhs_dilation=(spread, spread),
        rhs_dilation=(dilation, dilation),
        feature_group_count=groups,
    )
""",
    "convolved_sequence": """
def convolved_sequence(w, h):
    turned = jnp.swapaxes(h.astype(w.dtype), 1, 2)
    return jnp.swapaxes(jax.lax.conv_general_dilated(turned, w, (1,), "SAME"), 1, 2)
""",
    "pooled": """
def pooled(h, size=2, stride=2, pad="VALID", mean=False):
    start, combine = (0.0, jax.lax.add) if mean else (-jnp.inf, jax.lax.max)
    window, strides = (1, 1, size, size), (1, 1, stride, stride)
    out = jax.lax.reduce_window(h * 1.0, start, combine, window, strides, pad)
    return out / size**2 if mean else out
""",
    "shuffled": """
def shuffled(h, half):
    pairs = h.reshape(h.shape[0], 2, half, *h.shape[2:])
    return jnp.swapaxes(pairs, 1, 2).reshape(h.shape)
""",
    "smooth_loss": """
def smooth_loss(a, b):
    gap = jnp.abs(a - b)
    return jnp.where(gap < 1, gap * gap / 2, gap - 0.5).sum()
""",
    "scanned": """
def scanned(h):
    def step(carry, column):
        carry = carry * 0.5 + column
        return carry, carry

    columns = jnp.moveaxis(h, -1, 0)
    return jnp.moveaxis(jax.lax.scan(step, jnp.zeros_like(columns[0]), columns)[1], 0, -1)
""",
    "lstm": """
def lstm(w, h):
    def cell(carry, row):
        out, kept = carry
        i, f, g, o = jnp.split(jnp.concatenate([row, out], -1) @ w, 4, -1)
        kept = jax.nn.sigmoid(f) * kept + jax.nn.sigmoid(i) * jnp.tanh(g)
        out = jax.nn.sigmoid(o) * jnp.tanh(kept)
        return (out, kept), out

    zeros = jnp.zeros((h.shape[0], w.shape[1] // 4), jnp.result_type(h, w))
    return jnp.swapaxes(jax.lax.scan(cell, (zeros, zeros), jnp.swapaxes(h, 0, 1))[1], 0, 1)
""",
    "gru": """
def gru(p, h):
    def cell(out, row):
        given, kept = jnp.split(row @ p["w"], 3, -1), jnp.split(out @ p["u"], 3, -1)
        reset, update = (jax.nn.sigmoid(given[i] + kept[i]) for i in (0, 1))
        out = (1 - update) * jnp.tanh(given[2] + reset * kept[2]) + update * out
        return out, out

    zeros = jnp.zeros((h.shape[0], p["u"].shape[0]), jnp.result_type(h, p["w"]))
    return jnp.swapaxes(jax.lax.scan(cell, zeros, jnp.swapaxes(h, 0, 1))[1], 0, 1)
""",
    "attention": """
def attention(w, h, heads):
    parts = jnp.split(h @ w, 3, -1)
    q, k, v = (p.reshape(*p.shape[:2], heads, p.shape[2] // heads) for p in parts)
    scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k), -1)
    return jnp.einsum("bhqk,bkhd->bqhd", scores, v).reshape(h.shape)
""",
    "split_heads": """
def split_heads(h, heads):
    return h.reshape(*h.shape[:2], heads, h.shape[2] // heads)
""",
    "attend": """
def attend(query, key, value, heads, groups, mask=0.0, causal=False):
    q, k, v = split_heads(query, heads), split_heads(key, groups), split_heads(value, groups)
    k, v = (jnp.repeat(t, heads // groups, 2) for t in (k, v))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1]) + mask
    if causal:
        rows, columns = scores.shape[2:]
        scores = jnp.where(jnp.tri(rows, columns, columns - rows, dtype=bool), scores, -1e4)
    out = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v)
    return out.reshape(query.shape)
""",
    "relative_bias": """
def relative_bias(table, length, causal):
    places = jnp.arange(length)
    bias = table[:, places[None] - places[:, None] + 16]
    return jnp.where(places[None] > places[:, None], -1e4, bias) if causal else bias
""",
    "rotary": """
def rotary(h, heads):
    left, right = jnp.split(split_heads(h, heads), 2, -1)
    half = left.shape[-1]
    rates = 100.0 ** (-np.arange(half) / half)
    angles = jnp.asarray(np.arange(h.shape[1])[:, None, None] * rates, h.dtype)
    sine, cosine = jnp.sin(angles), jnp.cos(angles)
    turned = [left * cosine - right * sine, right * cosine + left * sine]
    return jnp.concatenate(turned, -1).reshape(h.shape)
""",
    "with_token": """
def with_token(token, h):
    return jnp.concatenate([jnp.broadcast_to(token, (h.shape[0], 1, h.shape[2])), h], 1)
""",
}
"""Layers by name; a program holds those that it uses."""
