#!/usr/bin/env bash
# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Renew dev.lock from dev.in. Python 3.11 is the last one with ansible-core 2.19, so it is resolved apart from the newest.
set -euo pipefail

setup=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for python in "${OLD_PYTHON:-python3.11}" "${NEW_PYTHON:-python3.13}"; do
    name=$(basename "$python")
    "$python" -m venv "$work/$name"
    "$work/$name/bin/python" -m pip install -qq --disable-pip-version-check -r "$setup/dev.in"
    "$work/$name/bin/python" -m pip freeze >"$work/$name.freeze"
done
"${NEW_PYTHON:-python3.13}" "$setup/merge_locks.py" "$work/$(basename "${OLD_PYTHON:-python3.11}").freeze" \
    "$work/$(basename "${NEW_PYTHON:-python3.13}").freeze" >"$setup/dev.lock"
