# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The winner of a sweep as text for an inventory: only what differs from what is there."""

from __future__ import annotations

import typing as t

import yaml

from ansible_collections.llmops.sglang.plugins.module_utils._compare_records import mapping

_VARIABLES = {"speculative": "server_speculative", "args": "server_args", "environment": "server_environment"}
_TEMPLATE = ("{{", "{%", "{#")


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: t.Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    # An inventory's text is a template, and this one is none.
    tag = "!unsafe" if any(mark in text for mark in _TEMPLATE) else "tag:yaml.org,2002:str"
    return dumper.represent_scalar(tag, text)


_Dumper.add_representer(str, _text)


def inventory(overrides: t.Mapping[str, t.Any], current: t.Mapping[str, t.Any]) -> str:
    """Variables of the role ``server`` in YAML; empty where nothing differs.

    :arg overrides: what the point sets, by ``speculative``, ``args`` and ``environment``.
    :arg current: what the inventory says now, likewise.
    """
    found = {}
    for part, variable in _VARIABLES.items():
        now = mapping(current.get(part))
        # What is null is left out, as what is not there.
        new = {key: value for key, value in mapping(overrides.get(part)).items() if now.get(key) != value}
        if new:
            found[variable] = new
    if not found:
        return ""
    text = yaml.dump(found, Dumper=_Dumper, default_flow_style=False, sort_keys=False, allow_unicode=False, width=1000)
    return "# Merge these keys into the variables of the host or its group; what else is set there stays.\n" + text
