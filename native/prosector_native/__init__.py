"""Prosector's translators in 8-bit integers. `prosector.decoding.native` makes them of a model's folder."""

from prosector_native._core import Stream, Translator, counts, kernels, linear

__all__ = ["Stream", "Translator", "counts", "kernels", "linear"]
