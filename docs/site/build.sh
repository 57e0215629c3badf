#!/usr/bin/env bash
# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Build the documentation's site into .build/docs, with each warning as an error. Needs no network. Started by "make docs".
set -euo pipefail

site=$(cd "$(dirname "$0")" && pwd)
build=$site/../../.build
source=$build/docs-source

rm -rf "$build/docs" "$source"
# antsibull-docs refuses a folder that others can write to.
mkdir -p "$source" && chmod go-w "$source"
antsibull-docs collection --cleanup everything --use-current --squash-hierarchy --fail-on-error \
    --no-add-antsibull-docs-version --dest-dir "$source" llmops.sglang
sphinx-build -q -b html -c "$site" -d "$build/docs-doctrees" -E --fail-on-warning --nitpicky "$source" "$build/docs"
rm -rf "$source" "$build/docs-doctrees"
echo "The site is in .build/docs/index.html."
