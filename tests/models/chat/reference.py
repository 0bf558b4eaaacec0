"""What transformers alone makes of a record with any number of images: inputs, a greedy reply, and the loss."""

import numpy as np
import torch
from PIL import Image
from torch.nn import functional


def inputs_of(kin, eyes, one):
    """What transformers' own processor makes of a record."""
    processor = kin.dialect.processor
    turns = [{"role": m.role, "content": [{"type": p.type, "text": p.text} for p in m.parts]} for m in one.messages]
    text = processor.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
    pictures = [Image.open(eyes / name).convert("RGB") for name in one.image]
    if kin.network.config.model_type == "llava":
        pictures = [squared(p, processor.image_processor.image_mean) for p in pictures]
    images = [pictures] if pictures else None
    made = processor(text=[text], images=images, return_tensors="pt", add_special_tokens=not text.startswith("<s>"))
    return {name: value for name, value in made.items() if name != "num_crops"}


def squared(picture, mean):
    side = max(picture.size)
    square = Image.new("RGB", (side, side), tuple(round(255 * m) for m in mean))
    square.paste(picture, ((side - picture.width) // 2, (side - picture.height) // 2))
    return square


def generated(kin, eyes, one, new):
    """Prompt ids and new ids, at most `new`, as transformers gives them."""
    inputs = inputs_of(kin, eyes, one)
    ends = sorted({*np.atleast_1d(kin.network.generation_config.eos_token_id), kin.dialect.tokenizer.eos_token_id})
    with torch.no_grad():
        out = kin.network.generate(**inputs, max_new_tokens=new, do_sample=False, num_beams=1, eos_token_id=ends)
    length = inputs["input_ids"].shape[1]
    return out[0, :length].tolist(), out[0, length:].tolist()


def loss_of_transformers(tuned, eyes, one):
    """transformers' own mean loss of a record from pixels, over its answer's tokens."""
    inputs = inputs_of(tuned, eyes, one)
    (answer,) = tuned.dialect([one], eyes).answer_ids
    ids = torch.cat([inputs.pop("input_ids"), torch.tensor([answer])], 1)
    kinds = inputs.pop("mm_token_type_ids", inputs.pop("token_type_ids", None))
    if name := tuned.dialect.family.token_types:
        kinds = torch.zeros(1, ids.shape[1] - len(answer)).long() if kinds is None else kinds
        inputs[name] = functional.pad(kinds, (0, len(answer)))
    labels = ids.clone()
    labels[:, : -len(answer)] = -100
    return tuned.network(**{**inputs, "input_ids": ids, "labels": labels, "attention_mask": torch.ones_like(ids)}).loss
