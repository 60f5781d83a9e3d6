"""Changes by name, and what must follow from each."""

import copy

import pytest
import torch
from tests.observe.models import (
    KINDS,
    PICTURES,
    SRC,
    TGT,
    WITH_KERNELS,
    every_kernel,
    recurrent_with_attention,
    run_whole,
    same,
    step_by_step,
    translator,
    vit,
    writer,
)

from prosector.attention import Mask, MultiHeadAttention
from prosector.decoding import beam_search
from prosector.nn import MultiheadAttention
from prosector.observe import observe

POSITIONS = ["sinusoidal", "learned", "rope", "yarn", "alibi", "t5", "binary", "one-hot"]


def without_columns(model, address, head):
    """A copy whose output map reads nothing of a head."""
    model = copy.deepcopy(model)
    attention = model.get_submodule(address)
    with torch.no_grad():
        attention.output.weight[:, head * attention.d_value : (head + 1) * attention.d_value] = 0
    return model


# --- a head ------------------------------------------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize("kind", WITH_KERNELS)
def test_without_a_head_is_without_its_columns_of_the_output_map(kind, kernel):
    make, inputs = KINDS[kind]
    model = make(kernel=kernel)
    found = [path for path, module in model.named_modules() if isinstance(module, MultiHeadAttention)]
    assert found
    for address in found:
        head = model.get_submodule(address).n_heads - 1
        with torch.no_grad(), observe(model, keep=()) as seen:
            seen.remove_head(address, head)
            edited = run_whole(model, *inputs)
        with torch.no_grad():
            same(edited, run_whole(without_columns(model, address, head), *inputs))


@every_kernel
def test_with_a_cache_and_in_beam_search_too(kernel):
    model = translator(kernel=kernel)
    address = "decoder.1.cross"
    other = without_columns(model, address, 1)
    with torch.no_grad(), observe(model, keep=()) as seen:
        seen.remove_head(address, 1)
        edited, found = step_by_step(model), beam_search(model, SRC, 6, n_best=3)
    with torch.no_grad():
        same(edited, step_by_step(other))
        wanted = beam_search(other, SRC, 6, n_best=3)
    assert [[one.ids for one in row] for row in found] == [[one.ids for one in row] for row in wanted]
    assert found != beam_search(model, SRC, 6, n_best=3)


def test_torch_nns_attention_loses_its_columns_too():
    attention, x = MultiheadAttention(8, 2, batch_first=True).eval(), torch.randn(2, 5, 8)
    with torch.no_grad(), observe(attention, keep=()) as seen:
        seen.remove_head("", 0)  # the model is the attention, so that its address is empty
        found, _ = attention(x, x, x)
    with torch.no_grad():
        attention.out_proj.weight[:, :4] = 0
        same(found, attention(x, x, x)[0])


def test_without_all_heads_only_the_output_maps_bias_is_left():
    model = writer()
    with torch.no_grad(), observe(model) as seen:
        seen.remove_head("decoder.*.attention", 0, 1)
        model(TGT)
    for number in range(2):
        bias = model.get_submodule(f"decoder.{number}.attention.output").bias
        same(seen[f"decoder.{number}.attention"], bias.expand(2, 3, -1))


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (lambda seen: seen.remove_head("encoder.0.attention", 2), IndexError, r"heads 0 to 1, and \[2\] were"),
        (lambda seen: seen.remove_head("encoder.0.attention"), ValueError, "no head of encoder.0.attention is named"),
        (lambda seen: seen.remove_head("encoder.0", 0), KeyError, "nothing passed at 'encoder.0.heads'"),
        (lambda seen: seen.set_mask("encoder", None), KeyError, "nothing passed at 'encoder'"),
    ],
)
def test_mistakes_are_named(change, error, says):
    def run_with_a_mistake():
        with torch.no_grad(), observe(model := translator()) as seen:
            change(seen)
            model(SRC, TGT)

    with pytest.raises(error, match=says):
        run_with_a_mistake()


# --- the mask ----------------------------------------------------------------------------------------------------


@every_kernel
def test_another_mask_is_the_mask_that_the_model_would_have_been_given(kernel):
    """A window instead of all of the past is what `hidden(mask=...)` computes."""
    model, window = writer(kernel=kernel), Mask.window(1, 0)
    with torch.no_grad():
        wanted = model.logits(model.hidden(TGT, mask=window))
        with observe(model) as seen:
            seen.set_mask("decoder.*.attention", window)
            same(model(TGT), wanted)
    assert seen["decoder.0.attention.weights"][:, :, 2, 0].abs().max() == 0


@every_kernel
@pytest.mark.parametrize("kind", WITH_KERNELS)
def test_without_a_mask_weights_are_the_softmax_over_all_keys(kind, kernel):
    make, inputs = KINDS[kind]
    model = make(kernel=kernel)
    attentions = [path for path, module in model.named_modules() if isinstance(module, MultiHeadAttention)]
    with torch.no_grad(), observe(model) as seen:
        seen.set_mask("*", None)
        run_whole(model, *inputs)
    for address in attentions:
        same(seen[f"{address}.weights"], seen[f"{address}.scores"].softmax(-1))
        heads = seen[f"{address}.weights"] @ seen[f"{address}.value"]
        same(seen[f"{address}.heads"], heads)


def test_with_a_cache_a_mask_goes_by_real_positions():
    model = translator()
    with torch.no_grad(), observe(model, keep=()) as seen:
        seen.set_mask("decoder.*.self", Mask.window(1, 0))
        seen.set_mask("decoder.*.cross", Mask.window(2, 0))
        same(step_by_step(model), model(SRC, TGT))


@every_kernel
@pytest.mark.parametrize("position", ["grid", "none"])
def test_a_pictures_tokens_are_masked_by_their_numbers(position, kernel):
    """With the class token and the first patch alone to look at, no other patch makes a difference to the class."""
    two = Mask.keys(torch.arange(7)[None] < 2)
    model, other = vit(position=position, kernel=kernel), PICTURES.clone()
    other[..., 4:] = 0
    other[..., 4:, :] = 0
    with torch.no_grad(), observe(model, keep=()) as seen:
        seen.set_mask("encoder.*", two)
        same(model(PICTURES), model(other))


def test_additive_attention_takes_another_mask_too():
    model = recurrent_with_attention()
    first = Mask.keys(torch.tensor([[True, False, False, False]] * 2))
    with torch.no_grad(), observe(model) as seen:
        seen.set_mask("attention", first)
        model(SRC, TGT)
    assert seen["attention.weights"].tolist() == [[[1.0, 0.0, 0.0, 0.0]]] * 2


@pytest.mark.parametrize("need_weights", [True, False])
def test_torch_nns_attention_takes_another_mask_too(need_weights):
    attention = MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(2, 5, 8)
    wanted, _ = attention(x, x, x, attn_mask=~torch.ones(5, 5).tril().bool(), need_weights=need_weights)
    with observe(attention, keep=()) as seen:
        seen.set_mask("", Mask.causal())
        found, _ = attention(x, x, x, need_weights=need_weights)
    same(found, wanted)


# --- positions ---------------------------------------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize("position", POSITIONS)
def test_without_positions_the_encoder_is_equivariant_under_permutations(position, kernel):
    model = translator(position=position, kernel=kernel)
    src, order = torch.tensor([[5, 6, 7, 8, 3]]), torch.tensor([3, 0, 4, 1, 2])
    with torch.no_grad(), observe(model, keep=()) as seen:
        seen.remove_positions("encoder")
        same(model.encode(src[:, order]), model.encode(src)[:, order])
    with torch.no_grad():
        assert (model.encode(src[:, order]) - model.encode(src)[:, order]).abs().max() > 1e-3


@every_kernel
@pytest.mark.parametrize("position", POSITIONS)
def test_swapped_positions_are_swapped_tokens(position, kernel):
    """Two tokens at each other's places come out as they do from the sentence in which they are exchanged."""
    model = translator(position=position, kernel=kernel)
    src, order = torch.tensor([[5, 6, 7, 8, 3]]), torch.tensor([3, 1, 2, 0, 4])
    with torch.no_grad(), observe(model, keep=()) as seen:
        seen.swap_positions("encoder", 0, 3)
        found = model.encode(src)
    with torch.no_grad():
        same(found, model.encode(src[:, order])[:, order])


@pytest.mark.parametrize("position", POSITIONS)
def test_with_a_cache_positions_are_removed_and_swapped_alike(position):
    model = translator(position=position)
    for change in (lambda seen: seen.remove_positions("decoder"), lambda seen: seen.swap_positions("decoder", 0, 2)):
        with torch.no_grad(), observe(model, keep=()) as seen:
            change(seen)
            same(step_by_step(model), model(SRC, TGT))


@every_kernel
@pytest.mark.parametrize("position", ["rope", "alibi"])
def test_in_beam_search_a_model_without_its_positions_is_the_model_that_has_none(position, kernel):
    model, none = translator(position=position, kernel=kernel), translator(position="none", kernel=kernel)
    none.load_state_dict({name: value for name, value in model.state_dict().items() if name in none.state_dict()})
    with observe(model, keep=()) as seen:
        seen.remove_positions("encoder")
        seen.remove_positions("decoder")
        found = beam_search(model, SRC, 6, n_best=2)
    wanted = beam_search(none, SRC, 6, n_best=2)
    assert [[one.ids for one in row] for row in found] == [[one.ids for one in row] for row in wanted]


@pytest.mark.parametrize("position", ["grid", "rope", "sinusoidal"])
def test_patches_without_positions_are_a_set(position):
    """A picture whose patches are exchanged is classed alike, by the mean of all of them."""
    model = vit(position=position, pooling="mean")
    other = torch.cat([PICTURES[..., 8:], PICTURES[..., 4:8], PICTURES[..., :4]], dim=-1)  # patch 0 ↔ 2, 3 ↔ 5
    with torch.no_grad():
        assert (model(other) - model(PICTURES)).abs().max() > 1e-3
        with observe(model, keep=()) as seen:
            seen.remove_positions("encoder")
            same(model(other), model(PICTURES))
        with observe(model, keep=()) as seen:
            seen.swap_positions("encoder", 0, 2)
            seen.swap_positions("encoder", 3, 5)
            swapped = model(PICTURES)
        same(swapped, model(other))


def test_masks_still_go_by_where_tokens_are():
    with torch.no_grad(), observe(model := writer()) as seen:
        seen.remove_positions("decoder")
        model(TGT)
    assert seen["decoder.0.attention.weights"].triu(1).abs().max() == 0
