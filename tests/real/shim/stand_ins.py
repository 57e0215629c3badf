# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages that can be imported and do nothing: any name and any submodule exists, and raises when it is called."""

from __future__ import annotations

import importlib.machinery
import sys
from types import ModuleType


class _Nothing(type):
    """The type of every name in a stand-in: a class, so that it serves as a base, an annotation and a namespace."""

    def __getattr__(cls, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _Nothing(name, (), {"__module__": f"{cls.__module__}.{cls.__name__}"})
        setattr(cls, name, value)
        return value

    def __call__(cls, *_args: object, **_kwargs: object) -> object:
        raise NotImplementedError(f"{cls.__module__}.{cls.__name__} is a stand-in: there is no CPU build of it")


class _StandIn(ModuleType):
    __version__ = "0.0"

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _Nothing(name, (), {"__module__": self.__name__})
        setattr(self, name, value)
        return value


class _Finder:
    """Finds the stand-ins and all their submodules. Last in sys.meta_path, so an installed package comes first."""

    def __init__(self, packages: list[str]) -> None:
        self.packages = packages

    def find_spec(
        self, name: str, _path: object = None, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in self.packages:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


def provide(packages: list[str]) -> None:
    """Make these packages importable where they are not installed."""
    sys.meta_path.append(_Finder(packages))
