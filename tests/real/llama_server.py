# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts llama.cpp's own HTTP server in this process: a second engine, whose code has nothing to do with SGLang's."""

from __future__ import annotations

import argparse
import signal

import xllamacpp


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--alias", default="llama-nano")
    arguments = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path = arguments.model
    params.model_alias = {arguments.alias}
    params.hostnames = [arguments.host]
    params.port = arguments.port
    params.n_ctx = 4096
    params.n_parallel = 2
    params.n_gpu_layers = 0
    params.use_jinja = True
    params.endpoint_metrics = True
    server = xllamacpp.Server(params)
    print(f"listening on {server.listening_address}", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
