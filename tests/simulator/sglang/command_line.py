# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SGLang's command line for any release, as a real argparse parser built from flags.json.

argparse itself gives the abbreviations, ambiguities, usage text and exit status that SGLang has.
"""

from __future__ import annotations

import argparse
import json
import os

from sglang import config_file, log_lines
from sglang.release import HERE


def flags_of(release):
    """The flag definitions of a release; a release that is not listed takes the nearest older one's."""
    with open(os.path.join(HERE, "flags.json"), encoding="utf-8") as handle:
        data = json.load(handle)
    versions = data["versions"]
    name = release.version
    if name not in versions:
        older = [each for each in versions if _key(each) <= _key(name)]
        name = max(older, key=_key) if older else min(versions, key=_key)
    chosen = [data["flags"][i] for first, last in versions[name] for i in range(first, last + 1)]
    return chosen + fork_flags(release)


def _key(version):
    base, _dummy, post = version.partition(".post")
    return tuple(int(part) for part in base.split(".")[:3]) + (int(post or 0),)


def fork_flags(release):
    """What a tree-verification fork adds: a budget and a top-k under its own name."""
    if not release.fork:
        return []
    return [
        {
            "flag": "--speculative-%s-%s" % (release.fork, word),
            "dest": "speculative_%s_%s" % (release.fork, word),
            "action": "store",
            "type": "int",
        }
        for word in ("budget", "topk")
    ]


def _human_readable_int(text):
    factors = {"k": 1000, "m": 1000000, "g": 1000000000, "K": 1024, "M": 1024**2, "G": 1024**3}
    if text and text[-1] in factors:
        return int(float(text[:-1]) * factors[text[-1]])
    return int(text)


_human_readable_int.__name__ = "human_readable_int"


def _json_list(text):
    value = json.loads(text)
    if not isinstance(value, list):
        raise argparse.ArgumentTypeError("expected a JSON list")
    return value


def _nullable_str(text):
    return None if text == "None" else text


# Destinations of older releases that ServerArgs renames.
RENAMED = {
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "data_parallel_size": "dp_size",
    "expert_parallel_size": "ep_size",
    "attention_context_parallel_size": "attn_cp_size",
    "moe_data_parallel_size": "moe_dp_size",
}

TYPES = {
    "int": int,
    "float": float,
    "json.loads": json.loads,
    "json_list_type": _json_list,
    "human_readable_int": _human_readable_int,
    "nullable_str": _nullable_str,
    "parse_cuda_graph_config_arg": json.loads,
}


def _warn_deprecated(flag, new_flag):
    text = "'%s' is deprecated and will be removed in a future release." % flag
    if new_flag:
        text += " Use '%s' instead." % new_flag
    # Colour even without a terminal, and before logging is set up: SGLang does both.
    log_lines.raw("\033[1;33m%s\033[0m" % text)


def _deprecated_action(base, definition):
    class Deprecated(base):
        def __call__(self, parser, namespace, values, option_string=None):
            if definition.get("error"):
                parser.error(definition["error"])
            _warn_deprecated(definition["flag"], definition.get("new_flag"))
            if definition["action"] == "DeprecatedStoreConstAction":
                setattr(namespace, self.dest, definition.get("new_flag", "").partition("=")[2] or True)
            elif definition["action"] == "DeprecatedAction":
                pass
            else:
                super().__call__(parser, namespace, values, option_string)

    return Deprecated


def _add(parser, definition):
    names = [definition["flag"]] + definition.get("aliases", [])
    keywords = {"dest": definition["dest"], "default": definition.get("default")}
    if keywords["default"] == "<required>":
        keywords["default"], keywords["required"] = None, True
    elif keywords["default"] == "<SUPPRESS>":
        keywords["default"] = argparse.SUPPRESS
    action = definition["action"]
    if action == "store_true":
        keywords.update(action="store_true", default=bool(keywords["default"]))
    elif action == "argparse.BooleanOptionalAction":
        names = names[:1]
        keywords["action"] = argparse.BooleanOptionalAction
    elif action == "DeprecatedStoreTrueAction":
        keywords["action"] = _deprecated_action(argparse._StoreTrueAction, definition)
    elif action in ("DeprecatedAction", "DeprecatedStoreConstAction"):
        keywords.update(action=_deprecated_action(argparse.Action, definition), nargs=0, default=argparse.SUPPRESS)
    else:
        if action == "DeprecatedAliasStoreAction":
            keywords["action"] = _deprecated_action(argparse._StoreAction, definition)
        if definition.get("type") in TYPES:
            keywords["type"] = TYPES[definition["type"]]
        for name in ("nargs", "choices"):
            if definition.get(name):
                keywords[name] = definition[name]
    parser.add_argument(*names, **keywords)


def build_parser(release, definitions=None):
    """The parser of a release. Usage errors exit with 2, as argparse does."""
    prog = "sglang serve" if release.since("0.5.10") else "launch_server.py"
    parser = argparse.ArgumentParser(prog=prog)
    for definition in definitions if definitions is not None else flags_of(release):
        if release.fork and definition["flag"] == "--speculative-algorithm" and definition.get("choices"):
            definition = dict(definition, choices=definition["choices"] + [release.fork.upper()])
        _add(parser, definition)
    return parser


def parse(release, argv):
    """The arguments as a dict from destination to value, after ``--config`` was read."""
    definitions = flags_of(release)
    parser = build_parser(release, definitions)
    if "--config" in argv:
        argv = config_file.merge(release, argv, definitions)
    namespace = vars(parser.parse_args(argv))
    for definition in definitions:
        default = definition.get("default")
        namespace.setdefault(definition["dest"], None if isinstance(default, str) and default[:1] == "<" else default)
    return {RENAMED.get(name, name): value for name, value in namespace.items()}
