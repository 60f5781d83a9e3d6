"""A graph of ONNX being written down, node by node; its weights stay in the model's safetensors file.

A safetensors file is a header and then plain numbers, each tensor's at an offset that the header names. ONNX lets a
weight lie at an offset of another file. So several graphs share one file of weights, and the model's folder stays
a model's folder.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from prosector.interop.engines.needed import needed

OPSET, IR_VERSION = 20, 10
WEIGHTS = "model.safetensors"


def places(path: Path) -> dict[str, tuple[int, int]]:
    """Where each tensor of a safetensors file lies: its offset and its length in bytes.

    Raises:
        ValueError: a tensor is not in float32.
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    if other := [name for name, one in header.items() if one["dtype"] != "F32"]:
        raise ValueError(f"{path}: {other[0]} is not in float32")
    return {
        name: (8 + size + one["data_offsets"][0], one["data_offsets"][1] - one["data_offsets"][0])
        for name, one in header.items()
    }


class Graph:
    """Nodes, and the names of what comes out of them: `x = graph("Add", x, y)`.

    Args:
        model: whose weights it uses.
        where: the place of each in the file, from `places`.
    """

    def __init__(self, model: nn.Module, where: dict[str, tuple[int, int]]) -> None:
        self.onnx = needed("onnx")
        self.where = where
        self.names = {id(weight): name for name, weight in model.named_parameters()}
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def __call__(self, op: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        """Add a node with one output, and return the output's name."""
        out = out or f"{op}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(op, list(inputs), [out], name=out, **attributes))
        return out

    def constant(self, values: Any, kind: type[np.generic] = np.int64) -> str:
        """Numbers that lie in the graph itself; the same ones once."""
        array = np.array(values, dtype=kind)
        key = (str(array.dtype), array.shape, array.tobytes())
        name = self.constants.setdefault(key, f"constant_{len(self.constants)}")
        self.initializers[name] = self.onnx.numpy_helper.from_array(array, name)
        return name

    def weight(self, weight: Tensor) -> str:
        """A weight of the model, by its name there."""
        name = self.names[id(weight)]
        if name not in self.initializers:
            offset, length = self.where[name]
            proto = self.onnx.TensorProto(name=name, dims=list(weight.shape), data_type=self.onnx.TensorProto.FLOAT)
            proto.data_location = self.onnx.TensorProto.EXTERNAL
            for key, value in (("location", WEIGHTS), ("offset", offset), ("length", length)):
                proto.external_data.add(key=key, value=str(value))
            self.initializers[name] = proto
        return name

    def input(self, name: str, kind: str, shape: Sequence[str | int]) -> str:
        """What is put in: FLOAT, INT64 or BOOL; a dimension that has a name may be of any size."""
        self.inputs.append(self.typed(name, kind, shape))
        return name

    def output(self, name: str, kind: str, shape: Sequence[str | int]) -> None:
        """What comes out."""
        self.outputs.append(self.typed(name, kind, shape))

    def typed(self, name: str, kind: str, shape: Sequence[str | int]) -> Any:
        """A name with its type."""
        return self.onnx.helper.make_tensor_value_info(name, getattr(self.onnx.TensorProto, kind), list(shape))

    def save(self, path: Path, text: str) -> None:
        """Write the graph, described by a text."""
        helper = self.onnx.helper
        graph = helper.make_graph(
            self.nodes, path.stem, self.inputs, self.outputs, list(self.initializers.values()), doc_string=text
        )
        model = helper.make_model(
            graph,
            producer_name="prosector",
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )
        path.write_bytes(model.SerializeToString(deterministic=True))
