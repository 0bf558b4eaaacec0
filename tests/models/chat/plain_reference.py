"""What transformers alone makes of a record, for any class: inputs by one call of the processor, and a reply."""

import torch
from PIL import Image

from tests.models.chat.reference import squared


def turns_of(one, pictures, system=""):
    left = iter(pictures)
    turns = [
        {"role": m.role, "content": [{"type": "image", "image": next(left)} if p.type == "image" else
                                     {"type": "text", "text": p.text} for p in m.parts]}
        for m in one.messages
    ]  # fmt: skip
    return ([{"role": "system", "content": [{"type": "text", "text": system}]}] if system else []) + turns


def plain_inputs(processor, eyes, one, *, pad=False, system="", **options):
    """What a processor makes of a record; without a chat template of its words, one after the other."""
    pictures = [Image.open(eyes / name).convert("RGB") for name in one.image]
    if pad:
        pictures = [squared(p, processor.image_processor.image_mean) for p in pictures]
    if processor.chat_template is None:
        parts = [p for m in one.messages for p in m.parts]
        text = "".join(processor.image_token if p.type == "image" else p.text for p in parts)
        return processor(text=[text], images=[pictures], return_tensors="pt", **options)
    made = processor.apply_chat_template(
        turns_of(one, pictures, system), tokenize=True, add_generation_prompt=True, return_dict=True,
        return_tensors="pt", **options,
    )  # fmt: skip
    return made


def of_type(network, inputs):
    """Inputs with pixels of the network's type: Llama 4's processor makes bfloat16."""
    if "pixel_values" in inputs:
        inputs["pixel_values"] = inputs["pixel_values"].to(network.dtype)
    return inputs


def plain_reply(network, processor, eyes, one, new, **options):
    """Prompt length and new ids, at most `new`, as transformers' own greedy `generate` gives them."""
    inputs = of_type(network, plain_inputs(processor, eyes, one, **options))
    inputs.pop("labels", None)
    with torch.no_grad():
        out = network.generate(**inputs, max_new_tokens=new, do_sample=False)
    length = inputs["input_ids"].shape[1]
    return length, out[0, length:].tolist()
