# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a small Llama model with random weights as a GGUF file for llama.cpp. Usage: make_gguf.py FILE

Only tokens of plain ASCII are ever chosen: torn UTF-8 makes the server drop a stream.

Runs in the llama-cpp environment. The tokenizer is the one of models/dflash-nano, so a prompt has the same tokens.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import gguf
import numpy

TOKENIZER = Path(__file__).resolve().parent / "models" / "dflash-nano" / "target"
LAYERS, WIDTH, HEADS, KV_HEADS, FEED_FORWARD, CONTEXT = 2, 64, 4, 2, 128, 4096


def add_tokenizer(writer: gguf.GGUFWriter) -> list[bool]:
    """Write the byte-level BPE into the file; returns for each token whether it may be generated."""
    data = json.loads((TOKENIZER / "tokenizer.json").read_text())
    ids = dict(data["model"]["vocab"])
    kinds = dict.fromkeys(ids.values(), gguf.TokenType.NORMAL)
    for token in data["added_tokens"]:
        ids[token["content"]] = token["id"]
        kinds[token["id"]] = gguf.TokenType.CONTROL if token["special"] else gguf.TokenType.USER_DEFINED
    tokens = sorted(ids, key=ids.__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([kinds[index] for index in range(len(tokens))])
    merges = data["model"]["merges"]
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in merges])
    writer.add_bos_token_id(ids["<|endoftext|>"])
    writer.add_eos_token_id(ids["<|im_end|>"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(json.loads((TOKENIZER / "tokenizer_config.json").read_text())["chat_template"])
    # In this alphabet a space is written as U+0120.
    plain = [token.replace("\u0120", "").isascii() for token in tokens]
    return [kinds[index] == gguf.TokenType.NORMAL and ok for index, ok in enumerate(plain)]


def add_weights(writer: gguf.GGUFWriter, wanted: list[bool]) -> None:
    random = numpy.random.default_rng(1)
    kv_width = WIDTH // HEADS * KV_HEADS

    def matrix(name: str, rows: int, columns: int) -> None:
        writer.add_tensor(name, random.normal(0, 0.05, (rows, columns)).astype(numpy.float32))

    def ones(name: str) -> None:
        writer.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))

    # A large first component in every embedding, so that the first column of the output can rule tokens out.
    embedding = random.normal(0, 0.5, (len(wanted), WIDTH)).astype(numpy.float32)
    embedding[:, 0] = 4.0
    writer.add_tensor("token_embd.weight", embedding)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        ones(f"{block}.attn_norm.weight")
        matrix(f"{block}.attn_q.weight", WIDTH, WIDTH)
        matrix(f"{block}.attn_k.weight", kv_width, WIDTH)
        matrix(f"{block}.attn_v.weight", kv_width, WIDTH)
        matrix(f"{block}.attn_output.weight", WIDTH, WIDTH)
        ones(f"{block}.ffn_norm.weight")
        matrix(f"{block}.ffn_gate.weight", FEED_FORWARD, WIDTH)
        matrix(f"{block}.ffn_up.weight", FEED_FORWARD, WIDTH)
        matrix(f"{block}.ffn_down.weight", WIDTH, FEED_FORWARD)
    ones("output_norm.weight")
    output = random.normal(0, 0.2, (len(wanted), WIDTH)).astype(numpy.float32)
    output[:, 0] = numpy.where(wanted, 0.0, -10.0)
    writer.add_tensor("output.weight", output)


def main() -> None:
    writer = gguf.GGUFWriter(sys.argv[1], "llama")
    writer.add_name("llama-nano")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    wanted = add_tokenizer(writer)
    writer.add_vocab_size(len(wanted))
    add_weights(writer, wanted)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
