"""The score of a landing run as a PyTorch module: Score(folder)(x, t), or (x, p, t) with a momentum."""
import json, os, torch
from safetensors.torch import load_file

DTYPE = {1: torch.float32, 7: torch.int64, 9: torch.bool, 11: torch.float64}
OPS = {name.capitalize(): getattr(torch, name) for name in
       "add sub mul div sin cos exp sqrt abs floor round neg sigmoid where".split()} | {
    "MatMul": torch.matmul, "Max": torch.maximum, "Min": torch.minimum, "Greater": torch.gt, "Identity": lambda v: v,
    "Cast": lambda v, to: v.to(DTYPE[to]), "Concat": lambda *v, axis: torch.cat(v, axis),
    "Reshape": lambda v, shape: v.reshape(shape.tolist()), "Unsqueeze": lambda v, at: v.unsqueeze(int(at)),
    "ReduceSum": lambda v, axis, keepdims: v.sum(int(axis), keepdim=bool(keepdims)),
    "Gather": lambda v, at, axis: v.index_select(axis, at), "Transpose": lambda v, perm: v.permute(perm),
    "Gemm": lambda x, w, b, transB: torch.nn.functional.linear(x, w, b),
    "Conv": lambda x, w, kernel_shape, pads, strides: torch.nn.functional.conv1d(x, w, None, strides, pads[:1]),
    "Pad": lambda v, pads: torch.nn.functional.pad(v, (0, int(pads[3])))}

class Score(torch.nn.Module):
    def __init__(self, folder="."):
        super().__init__()
        self.graph = json.load(open(os.path.join(folder, "graph.json")))
        for name, v in load_file(os.path.join(folder, "model.safetensors")).items():
            if name in self.graph["parameters"]:
                self.register_parameter(name.replace(".", "/"), torch.nn.Parameter(v))
            else:
                self.register_buffer(name, v)

    def forward(self, *inputs):
        wide = getattr(torch, self.graph["dtype"])
        at = {k.replace("/", "."): v for k, v in [*self.named_parameters(), *self.named_buffers()]}
        at |= {name: v.to(wide) for name, v in zip(self.graph["inputs"], inputs, strict=True)}
        for node in self.graph["nodes"]:
            at[node["out"]] = OPS[node["op"]](*(at[v] for v in node["in"]), **node.get("given", {}))
        return at[self.graph["output"]]
