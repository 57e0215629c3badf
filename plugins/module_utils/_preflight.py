# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What of a host keeps a start from ending well, found before anything is stopped for it."""

from __future__ import annotations

import glob
import importlib.util
import os
import pwd
import re
import shutil
import sys
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._drafter import model_directory
from ansible_collections.llmops.sglang.plugins.module_utils._failure import missing_dependency
from ansible_collections.llmops.sglang.plugins.module_utils._port_holder import Port, foreign_holder
from ansible_collections.llmops.sglang.plugins.module_utils._server_plan import (
    CommandPlan,
    Params,
    RunCommand,
    container_tool,
    on_this_host,
)
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

Arguments = t.Mapping[str, t.Any]

# Arguments that name what the server reads; the first three may be names of a hub.
_MODELS = ("model_path", "tokenizer_path", "speculative_draft_model_path")
_READ = (*_MODELS, "config", "ssl_keyfile", "ssl_certfile", "ssl_ca_certs")
_HUB_NAME = r"[\w.-]+(?:/[\w.-]+)?"
_TRUE = ("1", "on", "true", "yes")
# A file system's own blocks and those of a directory's entries come on top of a text.
_ROOM = 64 * 1024


class Finding(t.NamedTuple):
    """One reason why the start would fail, with its failure class."""

    failure_class: str
    msg: str


def of_containers(params: Params, unit: str, old_argv: t.Sequence[str]) -> list[str]:
    """Warnings of what cannot be checked, since it is or was inside of a container."""
    warnings = []
    tool = container_tool(old_argv)
    if tool:
        warnings.append(
            f"The unit '{unit}' ran its server in a container ('{tool}') and will run it on this host: what that command mounted, "
            "set and limited counts no more; only paths, GPUs and the port of the host are checked."
        )
    if not on_this_host(params) and not params["dest_dir"]:
        warnings.append(
            f"The unit '{unit}' has a root directory of its own: its paths, its GPUs and its port are not checked, and "
            "'sglang_version: auto' reads the version from this host."
        )
    return warnings


def missing_packages(names: t.Iterable[str]) -> list[Finding]:
    """Those of the Python packages that the interpreter of this module does not have."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    failures = [missing_dependency(name, sys.executable, "to prove the server once it is started") for name in missing]
    return [Finding(failure.failure_class, failure.msg) for failure in failures]


def unfit_host(params: Params, run_command: RunCommand, plan: CommandPlan, state: UnitState) -> list[Finding]:
    """All findings about this host, by the command of a unit and the *state* that the unit has."""
    user = params["user"] or (state.properties.get("User", "") if params["style"] == "drop_in" else "")
    # Who reads the files is with these not known before the start.
    reader_known = not {"DynamicUser", "SupplementaryGroups"} & set(params["service"] or {})
    given = {name: str(plan.arguments[name]) for name in _READ if plan.arguments.get(name)}
    paths = {**given, **{n: model_directory(given[n], plan.environment, plan.home) for n in _MODELS if n in given}}
    if plan.config:
        # A copy of it is handed over.
        paths.pop("config", None)
    elif "config" in paths:
        paths["config"] = os.path.join(params["working_directory"] or "/", paths["config"])
    read = [plan.words[0], *filter(None, paths.values())] if reader_known else []
    return [
        *missing_packages(params.get("needed_packages") or []),
        *unreadable(run_command, read, user, params["group"] or ""),
        *_missing(given, paths, plan.environment),
        *too_few_gpus(plan.arguments, plan.environment),
    ]


def _missing(
    given: t.Mapping[str, str], paths: t.Mapping[str, str], environment: t.Mapping[str, str]
) -> t.Iterator[Finding]:
    """What the server could not fetch or find, of the values as *given* and the *paths* that they mean."""
    config = paths.get("config")
    if config and not os.path.exists(config):
        yield Finding(
            "rule_violated",
            f"The configuration file '{config}' is not there: write it first, or correct 'args.config'.",
        )
    offline = [n for n in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE") if environment.get(n, "").lower() in _TRUE]
    for name in _MODELS if offline else ():
        if name in given and not paths[name] and re.fullmatch(_HUB_NAME, given[name]):
            yield Finding(
                "rule_violated",
                f"The model '{given[name]}' of '{name}' is not in this host's hub cache and {offline[0]} in 'environment' keeps "
                "the server from fetching it: copy it there, or correct HF_HOME.",
            )


def unreadable(run_command: RunCommand, paths: t.Iterable[str], user: str, group: str) -> list[Finding]:
    """What of *paths*, or of the files right in them, *user* (empty: the module's own) cannot read.

    Asked of the kernel as that user, so that access lists and every directory on the way count.
    """
    there = [path for path in paths if os.path.exists(path)]
    prefix: list[str] = []
    if user:
        try:
            entry = pwd.getpwuid(int(user)) if user.isdigit() else pwd.getpwnam(user)
        except KeyError:
            return []
        if entry.pw_uid == os.geteuid():
            user = ""
        else:
            prefix = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={group or entry.pw_gid}", "--init-groups", "--"]
    if not there or not all(map(shutil.which, [*prefix[:1], "find"])):
        return []
    unfit = ["(", "!", "-readable", "-o", "-type", "d", "!", "-executable", ")", "-print"]
    dummy, out, err = run_command(
        [*prefix, "find", "-L", *there, "-maxdepth", "1", *unfit], environ_update={"LC_ALL": "C"}, check_rc=False
    )
    denied = re.findall(r"find: '(.*)': Permission denied", err)
    named = dict.fromkeys([*out.splitlines(), *denied])
    # What else lies in a model's directory, caches and the like, is not read.
    found = [p for p in named if p in there or not (os.path.basename(p).startswith(".") or os.path.isdir(p))]
    if not found:
        return []
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    first = ", ".join(repr(path) for path in found[:3])
    who = f"user '{user}' of the unit" if user else "user of the unit"
    return [
        Finding("rule_violated", f"The {who} cannot read {first}{more}: open them to that user, or correct the paths.")
    ]


def gpu_count(environment: t.Mapping[str, str], root: str = "/") -> t.Optional[int]:
    """How many GPUs of NVIDIA or AMD the server will see; ``None`` where they cannot be counted."""
    count = len(glob.glob(os.path.join(root, "proc/driver/nvidia/gpus/*")))
    names = ["CUDA_VISIBLE_DEVICES"]
    if not count:
        names += ["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"]
        for path in glob.glob(os.path.join(root, "sys/class/kfd/kfd/topology/nodes/*/gpu_id")):
            with open(path, encoding="ascii") as handle:
                count += handle.read().strip() not in ("", "0")
    if not count:
        return None
    visible = next((environment[name] for name in names if environment.get(name)), None)
    # Parts of a GPU count as one each.
    return count if visible is None else len([entry for entry in visible.split(",") if entry.strip() not in ("", "-1")])


def gpus_needed(arguments: Arguments) -> int:
    """How many GPUs the server asks of one host, those that it passes over included."""

    def number(name: str, default: int) -> int:
        value = arguments.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    needed = max(1, number("tp_size", 1) * number("pp_size", 1) // max(1, number("nnodes", 1)))
    # With DP attention the replicas share the GPUs of the tensor-parallel group.
    if not arguments.get("enable_dp_attention") and number("attn_dp_size", 1) == 1:
        needed *= max(1, number("dp_size", 1))
    return number("base_gpu_id", 0) + (needed - 1) * number("gpu_id_step", 1) + 1


def too_few_gpus(arguments: Arguments, environment: t.Mapping[str, str], root: str = "/") -> list[Finding]:
    """Whether the arguments ask for more GPUs than there are."""
    there = gpu_count(environment, root)
    device = str(arguments.get("device") or "cuda").partition(":")[0]
    if there is None or device != "cuda" or "config" in arguments or gpus_needed(arguments) <= there:
        return []
    return [
        Finding(
            "rule_violated",
            f"The server asks for {gpus_needed(arguments)} GPUs and sees {there} on this host: correct 'args.tp_size' and "
            "the other sizes, or CUDA_VISIBLE_DEVICES in 'environment'.",
        )
    ]


def port_taken(arguments: Arguments, state: UnitState) -> list[str]:
    """A warning where a process that is not of the unit listens where the server will: it may be gone before the start."""
    # The server's own defaults, in each of its releases.
    port, host = arguments.get("port", 30000), str(arguments.get("host") or "127.0.0.1")
    if not isinstance(port, int) or arguments.get("node_rank") or "config" in arguments:
        return []
    owner = foreign_holder(Port(host, port), state)
    if owner is None:
        return []
    return [
        f"The port {port} is held by {owner.who()}, which is not of '{state.name}': the server would notice that only after it "
        "has loaded its weights; stop that process before the start, or choose another 'args.port'."
    ]


def no_room(directory: str, size: int) -> list[Finding]:
    """Whether *size* bytes cannot be written to *directory*, which may have to be made."""
    there = directory
    while not os.path.isdir(there) and there != os.path.dirname(there):
        there = os.path.dirname(there)
    disk = os.statvfs(there)
    free = (disk.f_bavail if os.geteuid() else disk.f_bfree) * disk.f_frsize
    if disk.f_flag & os.ST_RDONLY:
        why, remedy = "its file system is read-only", "mount it writable"
    elif disk.f_blocks and free < size + _ROOM:
        why, remedy = f"{free} bytes are free", "make room"
    elif disk.f_files and not disk.f_ffree:
        why, remedy = "its file system has no inode left", "make room"
    else:
        return []
    return [Finding("write_failed", f"Nothing can be written to '{directory}', since {why}: {remedy}.")]
