"""How large is a model that is measured?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Sizes of a model. `kind` is 'gpt' or 'llama'.

    With `experts`, `ffn_hidden` is the width of one, `shared` the number of those that each token meets, and the first
    `dense_layers` have one MLP of the width `dense_ffn` instead; `has_even_load` gives each expert as many tokens
    whatever the router says. `head_width` 0: the heads share the hidden size.
    """

    name: str
    kind: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn_hidden: int
    vocab: int
    is_tied: bool
    experts: int = 0
    topk: int = 0
    shared: int = 0
    dense_layers: int = 0
    dense_ffn: int = 0
    head_width: int = 0
    has_even_load: bool = False

    @property
    def head_size(self) -> int:
        return self.head_width or self.hidden // self.heads
