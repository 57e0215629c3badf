#!/usr/bin/env bash
# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Renew dev.lock (the tools), docs.lock (the documentation's site) and target.lock (tests of module code) from their .in files.
# Python 3.11 is the last one with ansible-core 2.19 and stands for itself; 3.12 takes what 3.13 does.
set -euo pipefail

setup=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

interpreter() {
    local candidate
    for candidate in "$(command -v "python$1" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
        if [ -x "$candidate" ] && "$candidate" -c '' 2>/dev/null; then
            echo "$candidate"
            return 0
        fi
    done
    echo "Python $1 is needed to renew the lock files and is not on this machine." >&2
    return 1
}

lock() {
    local name=$1 version
    shift
    for version in "$@"; do
        mkdir -p "$work/$name"
        "$(interpreter "$version")" -m venv "$work/$name-$version"
        "$work/$name-$version/bin/python" -m pip install -qq --disable-pip-version-check -r "$setup/$name.in"
        "$work/$name-$version/bin/python" -m pip freeze >"$work/$name/$version"
    done
    "$(interpreter 3.13)" "$setup/merge_locks.py" "$name" "$work/$name" >"$setup/$name.lock"
}

lock dev 3.11 3.13
lock docs 3.11 3.13
lock target 3.9 3.10 3.11 3.13
