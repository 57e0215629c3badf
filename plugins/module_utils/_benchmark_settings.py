# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""How a measured server is set: its arguments and the variables of its process, by which two records tell what differs."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import hide_keys
from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import is_secret_variable
from ansible_collections.llmops.sglang.plugins.module_utils._flags import arguments_of
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import MASKED
from ansible_collections.llmops.sglang.plugins.module_utils._server_facts import resolved_arguments, without_secrets

# Variables that reach SGLang, its kernels or its GPUs.
_PREFIXES = ("CUDA_", "FLASHINFER_", "MKL_", "NCCL_", "NVIDIA_", "OMP_", "PYTORCH_", "SGLANG_", "TORCH", "TRITON_")


def server_settings(
    info: t.Any, argv: t.Sequence[str], environ: t.Optional[t.Mapping[str, str]], version: t.Optional[str] = None
) -> dict[str, t.Any]:
    """Arguments under the names of the newest release that has them, and the variables that matter, without secrets.

    :arg info: the answer of ``/server_info``; it tells what the server made of its arguments, those not given included.
    :arg argv: the running command line, which tells where the server does not.
    :arg environ: the process's variables; ``None`` where they cannot be read.
    """
    arguments: t.Optional[dict[str, t.Any]] = None
    source = None
    if isinstance(info, dict) and len(info) > len(_always_told(info)):
        arguments, source = resolved_arguments(without_secrets(info, []), info.get("version")), "server"
    elif argv:
        launch = read_launch(argv)
        words = hide_keys(launch.words if launch.found else argv, MASKED)
        arguments, source = without_secrets(arguments_of(words, version), []), "command_line"
    variables = {k: v for k, v in (environ or {}).items() if k.startswith(_PREFIXES) and not is_secret_variable(k, v)}
    return {
        "arguments": arguments,
        "arguments_from": source,
        "environment": None if environ is None else variables,
    }


def _always_told(info: t.Mapping[str, t.Any]) -> set[str]:
    """What an engine that only imitates the route tells: that is not a list of arguments."""
    return {key for key in ("version", "model_path") if key in info}
