"""Layers on top of each other, and what they share: the position encoding, the masks, the final norm.

A stack numbers its layers as its children "0", "1", …, so that a value's address reads
`encoder.2.attention.weights`.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from prosector.attention.cache import Cache
from prosector.attention.dropout import Dropout
from prosector.attention.functional import as_autocast_does
from prosector.attention.masks import Mask
from prosector.attention.multihead import MultiHeadAttention
from prosector.attention.packing import Packing, padding_unwanted
from prosector.attention.scope import Scope
from prosector.blocks.decoder_layer import DecoderLayer
from prosector.blocks.encoder_layer import EncoderLayer
from prosector.blocks.feed_forward import ACTIVATIONS, FeedForward, GeGLU, SwiGLU
from prosector.blocks.norms import BatchNorm, LayerNorm, RMSNorm
from prosector.blocks.residual import PostNorm, PreNorm
from prosector.positions.base import Position
from prosector.tap import current_observer, tap

# What treats each token for itself, or is told where tokens stand; a subclass may do otherwise.
TOKEN_BY_TOKEN = {
    *(EncoderLayer, DecoderLayer, MultiHeadAttention, FeedForward, SwiGLU, GeGLU, PostNorm, PreNorm),
    *(LayerNorm, RMSNorm, BatchNorm, Dropout, nn.Linear, nn.Identity),
}


def token_by_token(module: nn.Module) -> bool:
    """Whether a layer or a norm is known to do so with all its parts, and nobody watches them by PyTorch's hooks."""
    for part in module.modules():
        hooks = part._forward_hooks, part._forward_pre_hooks, part._backward_hooks, part._backward_pre_hooks
        if type(part) not in TOKEN_BY_TOKEN or any(hooks):
            return False
        if isinstance(part, FeedForward) and part.activation not in ACTIVATIONS.values():
            return False
    return True


class Stack(nn.Module):
    """N layers, their position encoding, and a norm at the end (pre-norm needs one, 2017 has none).

    A norm at the beginning, on embeddings and positions together, is rarer: BERT and BLOOM have one.
    """

    def __init__(
        self,
        layers: Sequence[nn.Module],
        position: Position,
        final_norm: nn.Module | None,
        dropout: float,
        first_norm: nn.Module | None = None,
    ):
        super().__init__()
        self.n_layers = len(layers)
        self.position = position
        self.dropout = Dropout(dropout)
        self.first_norm = first_norm
        self.final_norm = final_norm
        for number, layer in enumerate(layers):
            self.add_module(str(number), layer)

    @property
    def layers(self) -> list[nn.Module]:
        """The layers, first to last."""
        return [getattr(self, str(number)) for number in range(self.n_layers)]

    def look_back(
        self,
        x: Float[Tensor, "B L d"],
        cache: Cache | None,
        positions: Int[Tensor, "*B L"] | None,
        mask: Mask | None,
    ) -> tuple[Scope, Int[Tensor, "*B L"]]:
        """What new tokens may look at: themselves and what the cache keeps; causal unless a mask says otherwise.

        And their places, where the encoding takes them to be: their positions, unless somebody observes and edits them.
        """
        start = 0 if cache is None else len(cache)
        counted = positions is None and (cache is None or cache.counted)
        if positions is None:
            positions = torch.arange(start, start + x.shape[1], device=x.device)
        key_positions = positions if cache is None else cache.extend(positions, counted)
        places, key_places = tap(self, "positions", positions), tap(self, "key_positions", key_positions)
        scope = Scope(
            positions,
            key_positions,
            Mask.causal() if mask is None else mask,
            self.position,
            self.position.rotate,
            new_key_positions=places,
            counted=counted,
            places=None if places is positions else places,
            key_places=None if key_places is key_positions else key_places,
        )
        return scope, places

    def enter(
        self, x: Float[Tensor, "B L d"], places: Int[Tensor, "*B L"], real: Bool[Tensor, "B L"] | None
    ) -> Float[Tensor, "B L d"]:
        """Embeddings with their positions, normed if the stack begins with a norm, and dropout."""
        x = self.position.embed(x, places)
        x = x if self.first_norm is None else self.first_norm(x, real)
        return tap(self, "input", self.dropout(x))

    def packing(self, real: Bool[Tensor, "B L"] | None) -> Packing | None:
        """Where real tokens stand, if they are to go through the layers without padding: on a CPU, if that is wanted.

        Not while somebody observes, nor if a layer may do more than treat each token for itself. On a GPU, and for a
        compiler, a number of tokens that only the data tell would cost more than it saves.
        """
        if real is None or real.device.type != "cpu" or torch.compiler.is_compiling() or not padding_unwanted():
            return None
        parts = [*self.layers, *([] if self.final_norm is None else [self.final_norm])]
        if current_observer() is not None or not all(map(token_by_token, parts)) or real.all() or not real.any():
            return None
        return Packing(real)

    def leave(self, x: Float[Tensor, "B L d"], real: Bool[Tensor, "B L"] | None) -> Float[Tensor, "B L d"]:
        """The last layer's output, normed if the stack ends with a norm."""
        return tap(self, "", x if self.final_norm is None else self.final_norm(x, real))


class EncoderStack(Stack):
    """Layers in which every real token may look at every other, or at those of them that `mask` allows."""

    def forward(
        self,
        x: Float[Tensor, "B L d"],
        real: Bool[Tensor, "B L"] | None = None,
        positions: Int[Tensor, "*B L"] | None = None,
        mask: Mask | None = None,
    ) -> Float[Tensor, "B L d"]:
        """Encode embeddings.

        Args:
            x: the embeddings.
            real: which tokens are not padding; all by default.
            positions: 0, 1, 2, … by default.
            mask: what may look at what; all real tokens at each other by default.
        """
        numbers = torch.arange(x.shape[1], device=x.device)
        counted = positions is None or positions.is_floating_point()  # a picture's places have no order for masks
        positions = numbers if positions is None else positions
        if real is not None:
            mask = Mask.keys(real) if mask is None else mask & Mask.keys(real)
        places, line = tap(self, "positions", positions), numbers if counted else positions
        moved = None if places is line else places
        rotate = self.position.rotate
        scope = Scope(line, line, mask, self.position, rotate, places, counted, places=moved, key_places=moved)
        x = self.enter(x, places, real)
        if packed := self.packing(real):
            scope.packed = scope.packed_keys = packed
            x, real = packed.pack(x), packed.real
        for layer in self.layers:
            x = layer(x, scope, real)
        x = self.leave(x, real)
        return packed.unpack(x) if packed else x


class CausalStack(Stack):
    """Layers that look at their own past alone: a model that only writes."""

    def forward(
        self,
        x: Float[Tensor, "B L d"],
        cache: Cache | None = None,
        positions: Int[Tensor, "*B L"] | None = None,
        mask: Mask | None = None,
        real: Bool[Tensor, "B L"] | None = None,
    ) -> Float[Tensor, "B L d"]:
        """Go over embeddings, all at once or, with a cache, some more of them; arguments as for `DecoderStack`."""
        scope, places = self.look_back(x, cache, positions, mask)
        x = self.enter(x, places, real)
        for number, layer in enumerate(self.layers):
            x = layer(x, scope, real, None if cache is None else cache.self_attention[number])
        return self.leave(x, real)


class DecoderStack(Stack):
    """Layers that look at their own past and at a memory."""

    def forward(
        self,
        x: Float[Tensor, "B Lt d"],
        memory: Float[Tensor, "B Ls d"],
        memory_real: Bool[Tensor, "B Ls"] | None = None,
        cache: Cache | None = None,
        positions: Int[Tensor, "*B Lt"] | None = None,
        mask: Mask | None = None,
        real: Bool[Tensor, "B Lt"] | None = None,
    ) -> Float[Tensor, "B Lt d"]:
        """Decode embeddings, all at once or, with a cache, some more of them.

        Args:
            x: the embeddings of the target's next tokens.
            memory: the encoder's output.
            memory_real: which of its tokens are not padding.
            cache: what earlier calls kept; its length is where these tokens begin.
            positions: the tokens' real positions; by default they go on where the cache ends.
            mask: over all keys, the cached ones included; causal by default.
            real: which of x are not padding, for norms that count over a batch.
        """
        scope, places = self.look_back(x, cache, positions, mask)
        memory_positions = torch.arange(memory.shape[1], device=x.device)
        memory_mask = None if memory_real is None else Mask.keys(memory_real)
        memory_scope = Scope(scope.query_positions, memory_positions, memory_mask)

        memory = as_autocast_does(memory)
        x = self.enter(x, places, real)
        if packed_memory := self.packing(memory_real) if cache is None else None:
            memory_scope.packed_keys, memory = packed_memory, packed_memory.pack(memory)
        packed = self.packing(real) if cache is None and mask is None else None
        # Without a mask a real token sees what stands before it, which must be no padding.
        if packed and not packed.on_the_right:
            packed = None
        if packed:
            scope.packed = scope.packed_keys = memory_scope.packed = packed
            x, real = packed.pack(x), packed.real
        for number, layer in enumerate(self.layers):
            kept = None if cache is None else (cache.self_attention[number], cache.cross_attention[number])
            x = layer(x, memory, scope, memory_scope, kept, real)
        x = self.leave(x, real)
        return packed.unpack(x) if packed else x
