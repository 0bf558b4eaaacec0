"""A tiny text encoder of the real class with random weights, saved as a user's folder."""

import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

CHARACTERS = list("视盘苍白黄斑水肿无裂孔见出血渗")
WORDS = ["the", "disc", "pale", "macula", "hole", "no", "a", "edema"]


def save_encoder(folder, seed=0, layers=3):
    """Write the encoder and its tokenizer to a folder, and return the folder."""
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *CHARACTERS, *WORDS]
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=layers, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=40,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    BertModel(config).eval().save_pretrained(folder)
    BertTokenizerFast(vocab={word: k for k, word in enumerate(vocabulary)}).save_pretrained(folder)
    return folder
