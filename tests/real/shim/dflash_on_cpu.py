# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The three places where SGLang 0.5.15's DFLASH worker takes a GPU for granted; TRITON_INTERPRET=1 does the rest.

Its batches are moved between CUDA streams (there is one stream here: nothing to record), it chooses its Triton kernels
by the device's name, and the code beside those kernels asks whether CUDA is there.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType


def _use_triton_kernels(module: ModuleType) -> None:
    worker = module.DFlashWorkerV2
    original = worker.__init__

    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        self._use_triton_prepare_block = True
        self._use_triton_accept_bonus = True

    worker.__init__ = __init__


def _claim_cuda(module: ModuleType) -> None:
    module._is_cuda = True


PATCHES: dict[str, Callable[[ModuleType], None]] = {
    "sglang.srt.speculative.dflash_worker_v2": _use_triton_kernels,
    "sglang.srt.speculative.triton_ops.cache_locs": _claim_cuda,
}


class _Loader(importlib.abc.Loader):
    """Loads a module as its own loader does, and patches it before anybody sees it."""

    def __init__(self, loader: importlib.abc.Loader, patch: Callable[[ModuleType], None]) -> None:
        self.loader, self.patch = loader, patch

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        self.patch(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, PATCHES[name])
        return spec


def enable() -> None:
    """Patch torch now, and SGLang's modules as they are imported."""
    import torch

    torch.Tensor.record_stream = lambda self, stream=None: None
    sys.meta_path.insert(0, _Finder())
