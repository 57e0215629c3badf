# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes models/dflash-nano: a Qwen3 target and a DFlash drafter of 0.7 MB together, whose acceptance is known.

Usage, in the environment of SGLang 0.5.15.post1: make_models.py DIRECTORY

The weights are made, not trained. Every output projection is zero, so a hidden state is the embedding of the last
token alone; all embeddings share one large first component; so the first column of lm_head decides the distribution
of the next token, whatever the context: "a" with probability 0.85. The drafter borrows embedding and lm_head and
always proposes "a". At temperature 0 every draft token is accepted: the acceptance length is the block size, exactly.

The drafter's config.json says that it was trained with a sliding window of 2048, as the drafters in use do.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

WIDTH, LAYERS, HEADS, KV_HEADS, HEAD_SIZE, FEED_FORWARD, VOCABULARY = 64, 4, 2, 1, 32, 128, 1024
BLOCK_SIZE, TRAINED_WINDOW = 4, 2048
PROBABILITY_OF_A = 0.85
EMBEDDING_FIRST, EMBEDDING_NOISE = 4.0, 0.01

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|MASK|>"]
REASONING = ["<think>", "</think>"]
CHAT_TEMPLATE = (
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}"
    "{%- endif %}"
)
TEXT = [
    "The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs.",
    "The capital city of France is Paris. The capital of Germany is Berlin and the river is the Spree.",
    "Speculative decoding drafts several tokens and verifies them in one forward pass of the target model.",
    "def main():\n    for i in range(10):\n        print(i, i*i)\n",
    '{"role": "user", "content": "Hello, how are you today?"}',
]


def write_json(path: Path, data: object) -> None:
    path.write_text(json.dumps(data, indent=1) + "\n")


def make_tokenizer() -> Tokenizer:
    """A byte-level BPE trained on a few sentences."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXT * 4, trainer)
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in REASONING])
    return tokenizer


def write_tokenizer(tokenizer: Tokenizer, directory: Path) -> None:
    tokenizer.save(str(directory / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": 40960,
        "chat_template": CHAT_TEMPLATE,
        "additional_special_tokens": SPECIAL[1:],
    }
    write_json(directory / "tokenizer_config.json", config)


def configuration(tokenizer: Tokenizer, architecture: str, layers: int, **more: object) -> dict[str, object]:
    return {
        "architectures": [architecture],
        "model_type": "qwen3",
        "torch_dtype": "bfloat16",
        "hidden_size": WIDTH,
        "num_hidden_layers": layers,
        "max_window_layers": layers,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_SIZE,
        "intermediate_size": FEED_FORWARD,
        "hidden_act": "silu",
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 40960,
        "rope_theta": 1000000.0,
        "rope_scaling": None,
        "rms_norm_eps": 1e-6,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "initializer_range": 0.02,
        "tie_word_embeddings": False,
        "use_cache": True,
        "use_sliding_window": False,
        "sliding_window": None,
        "bos_token_id": tokenizer.token_to_id("<|endoftext|>"),
        "pad_token_id": tokenizer.token_to_id("<|endoftext|>"),
        "eos_token_id": tokenizer.token_to_id("<|im_end|>"),
        **more,
    }


class Weights:
    """Random and constant tensors in bfloat16."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(1)

    def random(self, *shape: int, scale: float = 0.02) -> torch.Tensor:
        return (torch.randn(*shape, generator=self.generator) * scale).to(torch.bfloat16)

    def layer(self, prefix: str) -> dict[str, torch.Tensor]:
        """One transformer layer that adds nothing to its input: both output projections are zero."""
        ones, zeros = torch.ones, torch.zeros
        layer = {
            "self_attn.q_proj": self.random(HEADS * HEAD_SIZE, WIDTH),
            "self_attn.k_proj": self.random(KV_HEADS * HEAD_SIZE, WIDTH),
            "self_attn.v_proj": self.random(KV_HEADS * HEAD_SIZE, WIDTH),
            "self_attn.o_proj": zeros(WIDTH, HEADS * HEAD_SIZE),
            "self_attn.q_norm": ones(HEAD_SIZE),
            "self_attn.k_norm": ones(HEAD_SIZE),
            "mlp.gate_proj": self.random(FEED_FORWARD, WIDTH),
            "mlp.up_proj": self.random(FEED_FORWARD, WIDTH),
            "mlp.down_proj": zeros(WIDTH, FEED_FORWARD),
            "input_layernorm": ones(WIDTH),
            "post_attention_layernorm": ones(WIDTH),
        }
        return {f"{prefix}{name}.weight": tensor.to(torch.bfloat16) for name, tensor in layer.items()}


def next_token_logits(tokenizer: Tokenizer) -> torch.Tensor:
    """Log-probabilities of the next token: "a", then letters and punctuation, a little for the ends of a text."""
    weights = dict.fromkeys([*"bcdefghijklmnopqrstuvwxyz.,", "\u010a"], 1.0)
    weights |= {"\u0120": 6.0, "</think>": 0.8, "<|im_end|>": 0.25}
    total = sum(weights.values())
    logits = torch.full((VOCABULARY,), -30.0)
    for token, weight in weights.items():
        logits[tokenizer.token_to_id(token)] = math.log((1 - PROBABILITY_OF_A) * weight / total)
    logits[tokenizer.token_to_id("a")] = math.log(PROBABILITY_OF_A)
    return logits


def target_weights(tokenizer: Tokenizer, weights: Weights) -> dict[str, torch.Tensor]:
    embedding = weights.random(VOCABULARY, WIDTH, scale=EMBEDDING_NOISE)
    embedding[:, 0] = EMBEDDING_FIRST
    # The first component of such an embedding after the final RMS norm.
    normed = EMBEDDING_FIRST / math.sqrt((EMBEDDING_FIRST**2 + (WIDTH - 1) * EMBEDDING_NOISE**2) / WIDTH)
    head = torch.zeros(VOCABULARY, WIDTH)
    head[:, 0] = (next_token_logits(tokenizer) + 10) / normed
    tensors = {"model.embed_tokens.weight": embedding}
    for layer in range(LAYERS):
        tensors |= weights.layer(f"model.layers.{layer}.")
    return tensors | {"model.norm.weight": torch.ones(WIDTH), "lm_head.weight": head}


def draft_weights(weights: Weights) -> dict[str, torch.Tensor]:
    norms = {"hidden_norm.weight": torch.ones(WIDTH), "norm.weight": torch.ones(WIDTH)}
    return weights.layer("layers.0.") | norms | {"fc.weight": weights.random(WIDTH, WIDTH)}


def write_weights(directory: Path, tensors: dict[str, torch.Tensor]) -> None:
    tensors = {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in tensors.items()}
    save_file(tensors, str(directory / "model.safetensors"), metadata={"format": "pt"})


def main() -> None:
    target, draft = Path(sys.argv[1]) / "target", Path(sys.argv[1]) / "draft"
    tokenizer, weights = make_tokenizer(), Weights()
    for directory in (target, draft):
        directory.mkdir(parents=True, exist_ok=True)
        write_tokenizer(tokenizer, directory)
    write_json(target / "config.json", configuration(tokenizer, "Qwen3ForCausalLM", LAYERS))
    generation = {"do_sample": True, "temperature": 1.0, "top_p": 1.0, "top_k": -1}
    write_json(target / "generation_config.json", generation | {"eos_token_id": [tokenizer.token_to_id("<|im_end|>")]})
    drafter = configuration(
        tokenizer,
        "DFlashDraftModel",
        1,
        num_target_layers=LAYERS,
        block_size=BLOCK_SIZE,
        use_sliding_window=True,
        sliding_window=TRAINED_WINDOW,
        layer_types=["sliding_attention"],
        dflash_config={"mask_token_id": tokenizer.token_to_id("<|MASK|>"), "target_layer_ids": [LAYERS // 2]},
    )
    write_json(draft / "config.json", drafter)
    write_weights(target, target_weights(tokenizer, weights))
    write_weights(draft, draft_weights(weights))


if __name__ == "__main__":
    main()
