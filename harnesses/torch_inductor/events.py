"""What each event between calls does, in PyTorch's words: one entry a kind.

An entry gives, by value, the lines of the step; `{t}` is the carrier's name, `{p}` the path of its
parameter or buffer below the model.
"""

from __future__ import annotations

from harnesses.event_text import Entry, EventTable, alike, each
from rondo.vocabulary import EventKind, values

OWN_EVENTS = (
    EventKind(
        "set_autocast_dtype",
        values("float16", "bfloat16"),
        operators=("inner_autocast",),
        holds="bfloat16",
    ),
    EventKind(
        "set_grad_enabled", values("False", "True"), operators=("branch_grad",), holds="True"
    ),
    EventKind("set_deterministic", values("True", "False"), holds="False"),
    EventKind(
        "set_stance", values("force_eager", "eager_on_recompile", "default"), holds="default"
    ),
    EventKind("limit_recompiles", values("2", "1", "8"), weight=3, holds="8"),
    EventKind(
        "toggle_config",
        values(
            "specialize_float",
            "automatic_dynamic_shapes",
            "specialize_int",
            "assume_static_by_default",
            "capture_scalar_outputs",
        ),
        mechanisms=True,
    ),
    EventKind("set_default_device", values("cpu", "None"), holds="None"),
    EventKind("add_backward_hook", values("parameter"), "parameter"),
    EventKind("add_module_backward_hook", values("root")),
    EventKind("clear_gradients", values("all"), "parameter"),
    EventKind("move_model", values("bfloat16", "float32"), "parameter", holds="float32"),
    EventKind("delete_attribute", values("restored"), "attr.float"),
)
"""Events that torch alone has."""


_ENTRIES: Entry = {
    **alike("set_float_attribute", "set the float attribute {t} to {v}", "s.model.{t} = {v}"),
    **alike("set_int_attribute", "set the int attribute {t} to {v}", "s.model.{t} = {v}"),
    **alike("set_bool_attribute", "set the bool attribute {t} to {v}", "s.model.{t} = {v}"),
    **alike("retype_attribute", "set the int attribute {t} to {v}", "s.model.{t} = {v}"),
    **each(
        "change_list_attribute",
        append=("append to the list {t}", "s.model.{t}.append(1.25)"),
        pop=("remove the last entry of the list {t}", "del s.model.{t}[-1:]"),
        set=("change the first entry of the list {t}", "s.model.{t}[:1] = [3.0]"),
        rebind=("rebind the list {t}", "s.model.{t} = [0.5, 2.0, 1.5]"),
    ),
    **each(
        "change_dict_attribute",
        set=("change an entry of the dict {t}", 's.model.{t}["a"] = 3.0'),
        add=("add an entry to the dict {t}", 's.model.{t}["c"] = 1.0'),
        rebind=("rebind the dict {t}", 's.model.{t} = {{"a": 0.5}}'),
    ),
    **alike("set_enum_attribute", "set the enum attribute {t} to {v}", "s.model.{t} = {T}.{v}"),
    **each(
        "change_tensor_attribute",
        rebind=("rebind the tensor attribute {t}", "s.model.{t} = torch.full((1,), 5.0)"),
        mutate=("change the tensor attribute {t} in place", "s.model.{t}.add_(1)"),
    ),
    **alike("set_object_attribute", "set the attribute of {t} to {v}", "s.model.{t}.gain = {v}"),
    **alike("set_property", "change what the property {t} gives to {v}", "s.model._{t} = {v}"),
    **alike("set_class_attribute", "set the class attribute {t}.rate to {v}", "{t}.rate = {v}"),
    **alike("set_global", "set the global {t} to {v}", "global {t}", "{t} = {v}"),
    **each(
        "replace_global_function",
        minus=("replace the global function {t}", "global {t}", "{t} = lambda h: h - 1"),
        half=("replace the global function {t}", "global {t}", "{t} = lambda h: h * 0.5"),
    ),
    **alike("set_closure_cell", "set the closed-over variable to {v}", "change_{t}({v})"),
    **alike("set_default_argument", "set the default argument to {v}", "{t}.__defaults__ = ({v},)"),
    **each(
        "replace_method",
        instance=(
            "replace the method {t} on the instance",
            "s.model.{t} = types.MethodType(other_{t}, s.model)",
        ),
        **{"class": ("replace the method {t} on the class", "Model.{t} = other_{t}")},
        code=(
            "replace the code object of the method {t}",
            "Model.{t}.__code__ = other_{t}.__code__",
        ),
    ),
    **each(
        "replace_object_method",
        instance=(
            "replace the method of {t} on the instance",
            "target = s.model.object_{t}",
            "target.apply = types.MethodType(other_{t}, target)",
        ),
        **{"class": ("replace the method of {t} on the class", "{t}.apply = other_{t}")},
        code=(
            "replace the code object of the method of {t}",
            "{t}.apply.__code__ = other_{t}.__code__",
        ),
    ),
    **each(
        "replace_submodule",
        tanh=("replace the sub-module {t}", "s.model.{t} = torch.nn.Tanh()"),
        identity=("replace the sub-module {t}", "s.model.{t} = torch.nn.Identity()"),
    ),
    **each(
        "change_parameter",
        mutate=(
            "change the parameter {p} in place",
            "with torch.no_grad():",
            "    s.model.{p}.mul_(1.5)",
        ),
        rebind=(
            "rebind the parameter {p}",
            "parameter = s.model.{p}",
            "s.model.{p} = torch.nn.Parameter(parameter.detach() * 0.5)",
        ),
        double=("convert the model to float64", "s.model.double()"),
    ),
    **alike(
        "optimizer_step", "take a step of SGD", "torch.optim.SGD(s.model.parameters(), 0.1).step()"
    ),
    **alike(
        "load_state",
        "load a halved state dict",
        "state = s.model.state_dict()",
        "s.model.load_state_dict({{name: value * 0.5 for name, value in state.items()}})",
    ),
    **alike(
        "freeze_parameter",
        "toggle requires_grad of {p}",
        "parameter = s.model.{p}",
        "parameter.requires_grad_(not parameter.requires_grad)",
    ),
    **alike("tie_parameters", "tie two parameters", "s.model.{p} = s.model.{p2}"),
    **each(
        "change_buffer",
        mutate=("change the buffer {p} in place", "s.model.{p}.add_(1)"),
        rebind=("rebind the buffer {p}", "s.model.{p} = s.model.{p} + 1"),
    ),
    **each(
        "add_forward_hook",
        root=(
            "register a forward hook on the model",
            "s.hooks.append(s.model.register_forward_hook(ten_times))",
        ),
        submodule=(
            "register a forward hook on {t}",
            "s.hooks.append(s.model.{t}.register_forward_hook(ten_times))",
        ),
    ),
    **each(
        "add_forward_pre_hook",
        root=(
            "register a forward pre-hook on the model",
            "s.hooks.append(s.model.register_forward_pre_hook(doubled))",
        ),
        submodule=(
            "register a forward pre-hook on {t}",
            "s.hooks.append(s.model.{t}.register_forward_pre_hook(doubled))",
        ),
    ),
    **alike("remove_hook", "remove the newest hook", "if s.hooks:", "    s.hooks.pop().remove()"),
    **alike("submodule_mode", "put the sub-module {t} in {v} mode", "s.model.{t}.{v}()"),
    **each(
        "advance_python_rng",
        seed=("seed the model's random.Random", "s.model.{t}.seed(5)"),
        draw=("draw from the model's random.Random", "s.model.{t}.random()"),
    ),
    **alike(
        "set_default_dtype", "set the default dtype to {v}", "torch.set_default_dtype(torch.{v})"
    ),
    **alike(
        "set_matmul_precision",
        "set the matmul precision to {v}",
        'torch.set_float32_matmul_precision("{v}")',
    ),
    **alike(
        "collect_garbage",
        "drop compiled objects and collect garbage",
        "s.made.clear()",
        "gc.collect()",
    ),
    **each(
        "drop_compiler_state",
        in_memory=("reset Dynamo, keeping caches on disk", "torch._dynamo.reset()"),
        all=("reset the compiler", "torch.compiler.reset()"),
    ),
    **alike(
        "set_autocast_dtype",
        "set the CPU autocast dtype to {v}",
        'torch.set_autocast_dtype("cpu", torch.{v})',
    ),
    **alike("set_grad_enabled", "set grad mode to {v}", "torch.set_grad_enabled({v})"),
    **alike(
        "set_deterministic",
        "set deterministic algorithms to {v}",
        "torch.use_deterministic_algorithms({v})",
    ),
    **alike("set_stance", "set the compiler's stance to {v}", 'torch.compiler.set_stance("{v}")'),
    **alike(
        "limit_recompiles",
        "set the recompile limit to {v}",
        "torch._dynamo.config.recompile_limit = {v}",
    ),
    **alike(
        "toggle_config",
        "toggle the compiler's {v}",
        "config = torch._dynamo.config",
        "config.{v} = not config.{v}",
    ),
    **each(
        "set_default_device",
        cpu=("set the default device to cpu", 'torch.set_default_device("cpu")'),
        **{"None": ("unset the default device", "torch.set_default_device(None)")},
    ),
    **alike(
        "add_backward_hook",
        "register a hook on the gradient of {p}",
        "if s.model.{p}.requires_grad:",
        "    s.hooks.append(s.model.{p}.register_hook(lambda grad: grad * 10))",
    ),
    **alike(
        "add_module_backward_hook",
        "register a backward hook on the model",
        "s.hooks.append(s.model.register_full_backward_hook(lambda module, given, out: None))",
    ),
    **alike("clear_gradients", "clear the gradients", "s.model.zero_grad()"),
    **alike("move_model", "convert the model to {v}", "s.model.to(torch.{v})"),
    **alike(
        "delete_attribute",
        "delete the attribute {t} and set it anew",
        "del s.model.{t}",
        "s.model.{t} = 4.5",
    ),
}

EVENT_TEXT = EventTable(_ENTRIES)
"""The text of every kind of event that torch has."""
