#!/usr/bin/env bash
# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Usage: with_tools.sh COMMAND [WORD...]
# Installs what the tests and demos need where it is missing (Debian packages, a virtual environment outside the clone,
# ansible-test's pip bootstrap) and runs the command with it. The second time it only looks.
set -euo pipefail

setup=$(cd "$(dirname "$0")" && pwd)
clone=$(cd "$setup/../.." && pwd)
cache=${LLMOPS_SGLANG_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/llmops-sglang}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n -- "$@"; fi
}

install_packages() {
    local missing=() package
    while read -r package; do
        case $package in '' | '#'*) continue ;; esac
        # Held back or half-removed packages count as missing.
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done <"$setup/packages.txt"
    [ ${#missing[@]} -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null; then
        echo "Note: these Debian packages are not here and there is no apt-get: ${missing[*]}" >&2
    elif ! as_root true 2>/dev/null; then
        echo "Note: without root or sudo these packages cannot be installed: ${missing[*]}" >&2
    else
        echo "Installing packages: ${missing[*]}"
        as_root apt-get update -qq
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    fi
}

# The newest interpreter that really starts; a pyenv shim may exist and fail.
find_python() {
    local version candidate
    for version in 3.13 3.12 3.11; do
        for candidate in "$(command -v "python$version" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python; do
            if [ -x "$candidate" ] && "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
                "$candidate" -c 'import sys; print(sys.executable)'
                return 0
            fi
        done
    done
    echo "No Python 3.11, 3.12 or 3.13 with venv was found: install python3 and python3-venv." >&2
    return 1
}

make_venv() {
    local python key venv
    python=$(find_python)
    key=$("$python" -c 'import hashlib, sys; print("%d.%d-" % sys.version_info[:2] + hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest()[:12])' "$setup/dev.lock")
    venv=$cache/tools-$key
    mkdir -p "$cache"
    # Two clones may start at the same time.
    exec 9>"$cache/tools.lock"
    flock 9
    if [ ! -e "$venv/.complete" ]; then
        echo "Installing the Python tools into $venv (once; about a minute or two)"
        rm -rf "$venv"
        "$python" -m venv "$venv"
        "$venv/bin/python" -m pip install -qq --disable-pip-version-check -r "$setup/dev.lock"
        touch "$venv/.complete"
    fi
    flock -u 9
    exec 9>&-
    tools=$venv
}

# ansible-test fetches pip with a script that it looks for here first; ours takes the wheel that Python brings along.
offer_pip_bootstrap() {
    local version target
    version=$("$tools/bin/python" "$setup/ansible_test_pip_version.py")
    target=$HOME/.ansible/test/cache/get_pip_${version//./_}.py
    # One that somebody else put there stays; ours is renewed.
    if [ ! -e "$target" ] || grep -q 'llmops.sglang contributors' "$target"; then
        mkdir -p "$(dirname "$target")"
        cp "$setup/pip_bootstrap.py" "$target"
    fi
}

link_collection() {
    mkdir -p "$clone/.build/collections/ansible_collections/llmops"
    ln -sfn "$clone" "$clone/.build/collections/ansible_collections/llmops/sglang"
}

install_packages
make_venv
offer_pip_bootstrap
link_collection
cd "$clone"
export PATH="$tools/bin:$PATH" LLMOPS_SGLANG_CACHE="$cache" PYTHONDONTWRITEBYTECODE=1
export ANSIBLE_COLLECTIONS_PATH="$clone/.build/collections" ANSIBLE_CONFIG="$clone/ansible.cfg"
exec "$@"
