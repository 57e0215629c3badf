# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read SGLang's command line flags in a published wheel, from its source alone: nothing of it is run."""

from __future__ import annotations

import ast
import pathlib
import typing as t
import zipfile

ARGUMENTS = "sglang.srt.server_args"


class Unresolved(Exception):
    """An expression whose value the source alone does not tell."""


class Wheel:
    """The modules of one wheel as syntax trees."""

    def __init__(self, path: pathlib.Path) -> None:
        self._zip = zipfile.ZipFile(path)
        self._names = set(self._zip.namelist())
        self._modules: dict[str, Module] = {}
        self.version = path.name.split("-")[1]

    def module(self, name: str) -> Module | None:
        for file in (name.replace(".", "/") + ".py", name.replace(".", "/") + "/__init__.py"):
            if file in self._names:
                return self._parsed(name, file)
        return None

    def _parsed(self, name: str, file: str) -> Module:
        if file not in self._modules:
            self._modules[file] = Module(self, name, ast.parse(self._zip.read(file)))
        return self._modules[file]

    def modules_below(self, package: str) -> list[Module]:
        prefix = package.replace(".", "/") + "/"
        files = sorted(
            n for n in self._names if n.startswith(prefix) and n.endswith(".py") and "/" not in n[len(prefix) :]
        )
        return [self._parsed(f[:-3].replace("/", "."), f) for f in files]


class Module:
    """One module; ``names`` maps its top-level names to what they are bound to."""

    def __init__(self, wheel: Wheel, name: str, tree: ast.Module) -> None:
        self.wheel, self.name, self.tree = wheel, name, tree
        self.names = bindings(tree.body)

    def value(self, node: ast.expr, local: dict[str, t.Any] | None = None) -> t.Any:
        """The value of an expression.

        :raises Unresolved: if the source does not tell it.
        """
        return Evaluator(self, local or {}).value(node)


def bindings(body: t.Sequence[ast.stmt]) -> dict[str, t.Any]:
    """Names bound by statements, those below ``if`` and ``try`` included: an expression, a definition, or (module, name)."""
    found: dict[str, t.Any] = {}
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found[node.target.id] = node.value
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in found:
            found[node.target.id] = ast.BinOp(found[node.target.id], node.op, node.value)
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            found.update({a.asname or a.name: (node.module or "", a.name) for a in node.names})
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for part in ("body", "orelse", "handlers", "finalbody"):
                for name, value in bindings(getattr(node, part, [])).items():
                    found.setdefault(name, value)
    return found


class Evaluator:
    """Evaluates constants, lists, dicts, names across modules, enums and functions that only return one of these."""

    def __init__(self, module: Module, local: dict[str, t.Any]) -> None:
        self.module, self.local = module, local

    def value(self, node: t.Any) -> t.Any:
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise Unresolved(ast.unparse(node) if isinstance(node, ast.AST) else repr(node))
        return method(node)

    def _Constant(self, node: ast.Constant) -> t.Any:
        return node.value

    def _List(self, node: ast.List) -> list[t.Any]:
        found: list[t.Any] = []
        for item in node.elts:
            found += list(self.value(item.value)) if isinstance(item, ast.Starred) else [self.value(item)]
        return found

    _Tuple = _Set = _List

    def _Dict(self, node: ast.Dict) -> dict[t.Any, t.Any]:
        found: dict[t.Any, t.Any] = {}
        for key, value in zip(node.keys, node.values):
            found.update(self.value(value) if key is None else {self._or_text(key): self._or_text(value)})
        return found

    def _or_text(self, node: ast.expr) -> t.Any:
        try:
            return self.value(node)
        except Unresolved:
            return ast.unparse(node)

    def _JoinedStr(self, node: ast.JoinedStr) -> str:
        return "".join(str(self._or_text(p.value if isinstance(p, ast.FormattedValue) else p)) for p in node.values)

    def _BinOp(self, node: ast.BinOp) -> t.Any:
        left, right = self.value(node.left), self.value(node.right)
        return left | right if isinstance(node.op, ast.BitOr) else left + right

    def _Name(self, node: ast.Name) -> t.Any:
        if node.id in self.local:
            bound, module = self.local[node.id], self.module
        elif node.id in self.module.names:
            bound, module = self.module.names[node.id], self.module
        else:
            raise Unresolved(node.id)
        return resolve(bound, module, self.local)

    def _Attribute(self, node: ast.Attribute) -> t.Any:
        owner = self.value(node.value)
        if isinstance(owner, Class):
            return owner.attribute(node.attr)
        raise Unresolved(ast.unparse(node))

    def _ListComp(self, node: ast.ListComp) -> list[t.Any]:
        """Only the forms over an enum's members: [m.value for m in E], [m.name.lower() for m in E]."""
        members = self.value(node.generators[0].iter)
        if not isinstance(members, Class):
            members = [{"name": m, "value": m, "self": m} for m in members]
        else:
            members = [{"name": n, "value": v, "self": v} for n, v in members.members().items()]
        return [_member(node.elt, member) for member in members]

    _GeneratorExp = _SetComp = _ListComp

    def _Call(self, node: ast.Call) -> t.Any:
        if isinstance(node.func, ast.Name) and node.func.id in ("list", "sorted", "set", "tuple", "frozenset"):
            found = self.value(node.args[0]) if node.args else []
            # An enum stays one: its members have names as well as values.
            return found if isinstance(found, Class) else list(found)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("keys", "values", "copy"):
            found = self.value(node.func.value)
            return list(found.values()) if node.func.attr == "values" else list(found)
        called = self.value(node.func)
        if isinstance(called, Function):
            return called.returned()
        raise Unresolved(ast.unparse(node))


class Class(t.NamedTuple):
    """A class in the source."""

    node: ast.ClassDef
    module: Module

    def attribute(self, name: str) -> t.Any:
        bound = bindings(self.node.body).get(name)
        if bound is None:
            raise Unresolved(f"{self.node.name}.{name}")
        return resolve(bound, self.module, bindings(self.node.body))

    def members(self) -> dict[str, t.Any]:
        """The members of an enum; auto() counts as the lower-case name."""
        found = {}
        for name, bound in bindings(self.node.body).items():
            if isinstance(bound, ast.expr) and not name.startswith("_"):
                try:
                    found[name] = self.module.value(bound)
                except Unresolved:
                    found[name] = name.lower()
        return found


class Function(t.NamedTuple):
    """A function in the source."""

    node: ast.FunctionDef
    module: Module

    def returned(self) -> t.Any:
        """What its last ``return`` gives: an earlier one is for what was imported before."""
        returns = [n for n in ast.walk(self.node) if isinstance(n, ast.Return) and n.value is not None]
        last = max(returns, key=lambda n: n.lineno)
        return self.module.value(t.cast(ast.expr, last.value), bindings(self.node.body))


def resolve(bound: t.Any, module: Module, local: dict[str, t.Any]) -> t.Any:
    """The value of what a name is bound to."""
    if isinstance(bound, tuple):
        other = module.wheel.module(bound[0])
        if other is None or bound[1] not in other.names:
            raise Unresolved(".".join(bound))
        return resolve(other.names[bound[1]], other, {})
    if isinstance(bound, ast.ClassDef):
        return Class(bound, module)
    if isinstance(bound, ast.FunctionDef):
        return Function(bound, module)
    return module.value(bound, local)


def _member(node: ast.expr, member: dict[str, t.Any]) -> t.Any:
    if isinstance(node, ast.Name):
        return member["self"]
    if isinstance(node, ast.Attribute):
        return member[node.attr]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return getattr(_member(node.func.value, member), node.func.attr)()
    raise Unresolved(ast.unparse(node))


def flags_of(path: pathlib.Path) -> dict[str, dict[str, t.Any]]:
    """The flags of the wheel at *path*: flag to dest, type, nargs, choices, aliases, action and deprecation."""
    wheel = Wheel(path)
    arguments = wheel.module(ARGUMENTS)
    if arguments is None:
        raise SystemExit(f"{path}: there is no {ARGUMENTS} in this wheel")
    found: dict[str, dict[str, t.Any]] = {}
    for module in [arguments, *wheel.modules_below("sglang.srt.arg_groups.fields")]:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                for entry in _entries(node, module):
                    found[entry.pop("flag")] = entry
    return found


def _entries(cls: ast.ClassDef, module: Module) -> t.Iterator[dict[str, t.Any]]:
    for node in cls.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Subscript):
            entry = _field(node, module)
            if entry:
                yield entry
        elif isinstance(node, ast.FunctionDef) and node.name == "add_cli_args":
            local = bindings(node.body)
            for call in ast.walk(node):
                if (
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Attribute)
                    and call.func.attr == "add_argument"
                ):
                    yield _registered(call, module, local)


def _registered(call: ast.Call, module: Module, local: dict[str, t.Any]) -> dict[str, t.Any]:
    """One parser.add_argument(...)."""
    words = [module.value(a) for a in call.args]
    return _entry(words, {k.arg: k.value for k in call.keywords if k.arg}, module, local)


def _field(node: ast.AnnAssign, module: Module) -> dict[str, t.Any] | None:
    """One annotated field: ``name: A[type, "help"]`` or ``A[type, Arg(...)]``."""
    annotation = t.cast(ast.Subscript, node.annotation)
    if ast.unparse(annotation.value) not in ("A", "Annotated") or not isinstance(annotation.slice, ast.Tuple):
        return None
    kind, *metas = annotation.slice.elts
    # The first text or Arg(...) counts; a field with neither has no flag.
    meta = next((m for m in metas if isinstance(m, (ast.Constant, ast.JoinedStr)) or _is_arg(m)), None)
    if meta is None:
        return None
    name = t.cast(ast.Name, node.target).id
    options: dict[str, ast.expr] = {"help": meta}
    if isinstance(meta, ast.Call):
        options = {k.arg: k.value for k in meta.keywords if k.arg}
    if "no_cli" in options and module.value(options["no_cli"]):
        return None
    words = [module.value(options["cli_name"])] if "cli_name" in options else ["--" + name.replace("_", "-")]
    words += module.value(options["aliases"]) if "aliases" in options else []
    more = options.get("action_kwargs")
    if isinstance(more, ast.Dict):
        options.update({module.value(k): v for k, v in zip(more.keys, more.values) if k is not None})
    if isinstance(more, ast.Call):
        options.update({k.arg: k.value for k in more.keywords if k.arg})
    options.setdefault("dest", ast.Constant(name))
    if "type_parser" in options:
        options["type"] = options["type_parser"]
    if "action" not in options:
        _by_annotation(kind, options)
    return _entry(words, options, module, {})


def _is_arg(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "Arg"


def _by_annotation(kind: ast.expr, options: dict[str, ast.expr]) -> None:
    """Fill in what a field's type says: the same as SGLang's add_cli_args_from_dataclass."""
    if isinstance(kind, ast.Subscript) and ast.unparse(kind.value).endswith("Optional"):
        kind = kind.slice
    if isinstance(kind, ast.BinOp) and isinstance(kind.op, ast.BitOr):
        kind = kind.left if ast.unparse(kind.right) == "None" else kind.right
    if isinstance(kind, ast.Subscript) and ast.unparse(kind.value).endswith("Union"):
        kinds = [k for k in t.cast(ast.Tuple, kind.slice).elts if ast.unparse(k) != "None"]
        kind = kinds[0] if len(kinds) == 1 else ast.Name("str")
    outer, inner = (ast.unparse(kind.value), kind.slice) if isinstance(kind, ast.Subscript) else ("", kind)
    if outer.endswith("Literal"):
        values = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        options.setdefault("choices", ast.List(list(values)))
        options.setdefault("type", ast.Name(type(t.cast(ast.Constant, values[0]).value).__name__))
    elif outer in ("List", "list") and "type" not in options:
        options.setdefault("nargs", ast.Constant("+"))
        options["type"] = inner
    elif ast.unparse(kind) == "bool":
        options["action"] = ast.Constant("store_true")
    else:
        options.setdefault("type", kind if ast.unparse(kind) in ("int", "float") else ast.Name("str"))


def _entry(words: list[str], options: dict[str, ast.expr], module: Module, local: dict[str, t.Any]) -> dict[str, t.Any]:
    """One flag in the form of the catalogue's table."""

    def text(name: str) -> t.Any:
        node = options.get(name)
        if node is None:
            return None
        try:
            return module.value(node, local)
        except Unresolved:
            return ast.unparse(node)

    written = options.get("action")
    action = (
        "store" if written is None else written.value if isinstance(written, ast.Constant) else ast.unparse(written)
    )
    long = [w for w in words if w.startswith("--")]
    paired = [f"--no-{w[2:]}" for w in long] if action == "argparse.BooleanOptionalAction" else []
    choices = None
    if "choices" in options:
        try:
            choices = module.value(options["choices"], local)
        except Unresolved as exc:
            raise Unresolved(f"choices of {long[0]}: {exc}") from exc
    kind = ast.unparse(options["type"]) if "type" in options else "str"
    help_text = text("help") or ""
    return {
        "flag": long[0],
        "dest": text("dest") or long[0][2:].replace("-", "_"),
        "action": action,
        "type": kind,
        "nargs": text("nargs"),
        "choices": list(choices.members().values() if isinstance(choices, Class) else choices)
        if choices is not None
        else None,
        "aliases": [*long[1:], *paired],
        "deprecated": {
            "new_flag": text("new_flag"),
            "error": text("error_message") or text("error"),
            "help": help_text,
        },
    }
