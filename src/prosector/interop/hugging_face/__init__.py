"""Models of Hugging Face's `transformers`, read as ours and written as theirs; the library itself is not needed.

from_hugging_face(folder)      config.json and safetensors → a model of this house, with equal logits

One file an architecture (`gpt2.py`, `llama.py`, `bloom.py`, …): their config as ours, and which weight is which.
"""

from prosector.interop.hugging_face.importing import ARCHITECTURES, from_hugging_face

__all__ = ["ARCHITECTURES", "from_hugging_face"]
