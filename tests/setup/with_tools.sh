#!/usr/bin/env bash
# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Usage: with_tools.sh COMMAND [WORD...]
# Installs what the tests and demos need where it is missing (Debian packages, a virtual environment outside the clone,
# ansible-test's pip bootstrap) and runs the command with it. The second time it only looks.
# With LLMOPS_SGLANG_TOOLS=docs the environment is the one of docs.lock, which builds the documentation's site and nothing else.
set -euo pipefail
unset CDPATH PYTHONPATH PYTHONHOME
# Ansible ends where the caller's language is not installed on this machine or is not in UTF-8.
export LC_ALL=C.UTF-8
# Other users of the test hosts read what is made here.
umask 022

setup=$(cd "$(dirname "$0")" && pwd)
clone=$(cd "$setup/../.." && pwd)

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n -- "$@"; fi
}

# True for root, with sudo that asks nothing, and, at a terminal, when the password that it asks for was right.
may_be_root() {
    [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null || { [ -t 0 ] && command -v sudo >/dev/null && sudo -v -p "sudo needs the password of %p to $1: "; }
}

find_home() {
    export HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
    # Ansible keeps files there whatever it is told. root may write to a directory that takes no files, such as /proc.
    mkdir -p "$HOME/.ansible" 2>/dev/null && [ -w "$HOME/.ansible" ] && return 0
    echo "Note: the home directory '$HOME' cannot be written; .build/home in this clone takes its place." >&2
    export HOME=$clone/.build/home
    unset XDG_CACHE_HOME
    mkdir -p "$HOME"
}

# "sudo make test" leaves files of root behind, on which the next run without sudo would fail.
take_back() {
    local user place foreign=()
    user=$(id -u)
    [ "$user" != 0 ] && [ "$(stat -c %u "$clone")" = "$user" ] || return 0
    for place in .build .ansible .hypothesis .pytest_cache .ruff_cache collections tests/output; do
        [ ! -e "$clone/$place" ] || mapfile -t -O ${#foreign[@]} foreign < <(find "$clone/$place" -xdev ! -user "$user")
    done
    [ ${#foreign[@]} -gt 0 ] || return 0
    if may_be_root "take back what a run as root left in this clone"; then
        echo "Taking back what a run as root left in this clone (${#foreign[@]} files, with sudo)"
        printf '%s\0' "${foreign[@]}" | as_root xargs -0 chown -h "$user"
    else
        echo "'${foreign[0]}' belongs to another user, as after a run as root: sudo chown -hR $user '$clone'" >&2
        return 1
    fi
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
    elif ! may_be_root "install the packages ${missing[*]}"; then
        echo "Note: without root or sudo these packages cannot be installed: ${missing[*]}" >&2
    else
        echo "Installing packages$([ "$(id -u)" = 0 ] || echo ' with sudo'): ${missing[*]}"
        # One that was cut off has to be finished first; another one at work is waited for.
        as_root dpkg --configure -a >/dev/null || true
        as_root apt-get update -qq || echo "Note: the package lists could not be renewed; those that are here count." >&2
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install --fix-broken -y -qq \
            --no-install-recommends "${missing[@]}" >/dev/null
    fi
}

# The newest interpreter that really starts; a pyenv shim may exist and fail.
find_python() {
    local version candidate
    for version in 3.13 3.12 3.11; do
        for candidate in "$(command -v "python$version" || true)" "$(command -v python3 || true)" \
            "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python; do
            if [ -x "$candidate" ] && "$candidate" -c "import ensurepip, sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '$version')" 2>/dev/null; then
                "$candidate" -c 'import sys; print(sys.executable)'
                return 0
            fi
        done
    done
    echo "No Python 3.11, 3.12 or 3.13 with venv was found: install python3 and python3-venv." >&2
    return 1
}

make_venv() {
    local kind=$1 lock=$setup/$2.lock python key venv
    python=$(find_python)
    key=$("$python" -c 'import hashlib, sys; print("%d.%d-" % sys.version_info[:2] + hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest()[:12])' "$lock")
    venv=$cache/$kind-$key
    mkdir -p "$cache"
    # Two clones may start at the same time; a pip that outlives its caller holds the lock too.
    exec 9>"$cache/$kind.lock"
    if ! flock -n 9; then
        echo "Another run is installing the tools; waiting for it"
        flock 9
    fi
    # The Python that it was made from may have gone.
    if [ ! -e "$venv/.complete" ] || ! "$venv/bin/python" -c '' 2>/dev/null; then
        echo "Installing the Python tools into $venv (once; about a minute or two)"
        rm -rf "$venv"
        "$python" -m venv "$venv"
        if ! PIP_USER=0 "$venv/bin/python" -m pip install -qq --disable-pip-version-check -r "$lock"; then
            echo "The Python tools could not be installed, as pip says above: mend that and run the same again." >&2
            return 1
        fi
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

take_back
find_home
cache=${LLMOPS_SGLANG_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/llmops-sglang}
install_packages
case ${LLMOPS_SGLANG_TOOLS:-} in
    docs) make_venv docs docs ;;
    *)
        make_venv tools dev
        offer_pip_bootstrap
        ;;
esac
link_collection
cd "$clone"
export PATH="$tools/bin:$PATH" LLMOPS_SGLANG_CACHE="$cache" PYTHONDONTWRITEBYTECODE=1
# A proxy is for what is fetched, not for the servers of the tests and demos.
export no_proxy="${no_proxy:-${NO_PROXY:-}}"
no_proxy="${no_proxy:+$no_proxy,}localhost,127.0.0.1,::1"
export NO_PROXY="$no_proxy"
export ANSIBLE_COLLECTIONS_PATH="$clone/.build/collections" ANSIBLE_CONFIG="$clone/ansible.cfg"
exec "$@"
