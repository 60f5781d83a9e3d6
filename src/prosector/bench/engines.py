"""The contenders in decoding: one function an engine, which makes what translates a contest's sources.

Each takes ids and gives ids, without the end. All write at most as many tokens as the contest says, and compute one
step more, in which a target could end.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import torch

from prosector.bench.contest import Contest
from prosector.config.decoding import DecodingConfig
from prosector.data.batching import pad
from prosector.decoding.native import compiled, n_rows, searched
from prosector.decoding.native_weights import arrays_of
from prosector.decoding.rules import anything_goes
from prosector.decoding.search import search
from prosector.interop.engines.ctranslate2_spec import pieces_of, spec_of
from prosector.interop.engines.needed import needed
from prosector.training.precision import Precision, matrix_products

Translate = Callable[[], list[list[int]]]
CPU = torch.device("cpu")


def of_native(contest: Contest, beam: int, threads: int, shortlist: bool = False) -> Translate:
    """Our core in 8-bit integers; with its shortlist, only likely words get a logit."""
    arrays = arrays_of(contest.model, n_rows(contest.config))
    wordiness = [2] * contest.config.model.target_vocab
    core = compiled(contest.config, arrays, wordiness, shortlist=contest.shortlist)
    decoding = DecodingConfig(beam=beam, shortlist=shortlist)

    def translate() -> list[list[int]]:
        found = searched(core, contest.sources, contest.longest, [], [], decoding, threads)
        return [best.ids for best, *_ in found]

    return translate


def of_pytorch(contest: Contest, beam: int, precision: Precision) -> Translate:
    """Ours on PyTorch, with a cache."""
    src, decoding = pad(contest.sources), DecodingConfig(beam=beam)
    texts = [""] * len(contest.sources)

    def translate() -> list[list[int]]:
        with torch.inference_mode(), matrix_products(precision, CPU):
            found = search(contest.model, src, contest.longest, texts, anything_goes, decoding)
        return [best.ids for best, *_ in found]

    return translate


def of_ctranslate2(contest: Contest, beam: int, type_: str, threads: int, workers: int) -> Translate:
    """CTranslate2: so many workers, each with so many threads; the sentences are shared out evenly."""
    library = needed("ctranslate2")
    spec = spec_of(contest.config, contest.model, contest.source, contest.target)
    spec.optimize(type_)
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        theirs = library.Translator(folder, compute_type=type_, intra_threads=threads, inter_threads=workers)
    model: Any = contest.config.model
    source_pieces, target_pieces = (
        pieces_of(contest.source, model.source_vocab),
        pieces_of(contest.target, model.target_vocab),
    )
    ids_of = {piece: id for id, piece in enumerate(target_pieces)}
    sources = [[source_pieces[id] for id in ids] for ids in contest.sources]

    def translate() -> list[list[int]]:
        results = theirs.translate_batch(
            sources,
            beam_size=beam,
            max_batch_size=-(-len(sources) // workers),
            batch_type="examples",
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max(contest.longest) + 1,  # the end counts there
        )
        cut = zip(results, contest.longest, strict=True)
        return [[ids_of[piece] for piece in result.hypotheses[0]][:longest] for result, longest in cut]

    return translate


def of_hugging_face(contest: Contest, beam: int, precision: Precision) -> Translate:
    """`MarianMTModel.generate` with the same weights.

    Raises:
        ImportError: transformers is not installed.
        ValueError: Marian cannot express the model.
    """
    from prosector.interop.hugging_face.exporting import to_hugging_face

    theirs = marian(*to_hugging_face(contest.model))
    src, special = pad(contest.sources), contest.model.config.special

    def translate() -> list[list[int]]:
        with torch.inference_mode(), matrix_products(precision, CPU):
            found = theirs.generate(
                input_ids=src,
                attention_mask=(src != special.pad).long(),
                num_beams=beam,
                do_sample=False,
                max_new_tokens=max(contest.longest) + 1,
            )
        return [
            written(ids[1:], special.ends, longest)
            for ids, longest in zip(found.tolist(), contest.longest, strict=True)
        ]

    return translate


def marian(settings: dict[str, Any], weights: dict[str, torch.Tensor], **options: Any) -> Any:
    """A `MarianMTModel` with these weights."""
    transformers = needed("transformers")
    settings = {name: value for name, value in settings.items() if name not in ("architectures", "model_type", "dtype")}
    theirs = transformers.MarianMTModel(transformers.MarianConfig(**settings, **options)).eval()
    theirs.load_state_dict(weights, strict=False)
    theirs.tie_weights()
    return theirs


def written(ids: Sequence[int], ends: Sequence[int], longest: int) -> list[int]:
    """A target up to its end."""
    stop = next((place for place, id in enumerate(ids) if id in ends), len(ids))
    return list(ids[: min(stop, longest)])
