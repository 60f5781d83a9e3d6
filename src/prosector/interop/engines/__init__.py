"""Translators run by other engines, CTranslate2 and onnxruntime: a model written for one, and a folder of it used.

export_ctranslate2(folder, out)     a translator → a folder with `ctranslate2/`
export_onnx(folder, out)            a translator → a folder with three graphs
load_engine(name, folder)           such a folder → a `Translator`

Either library is needed only where it is used: pip install 'prosector[ctranslate2]', 'prosector[onnx]'.
"""

from prosector.interop.engines.exporting import export_ctranslate2, export_onnx
from prosector.interop.engines.loading import ENGINES, load_engine

__all__ = ["ENGINES", "export_ctranslate2", "export_onnx", "load_engine"]
