"""Questions that share a sequence against transformers' own loss of each record alone, on every family."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional
from transformers import AutoModelForImageTextToText, AutoProcessor

from lmod_train.models.chat import masks, shared_prefix
from lmod_train.models.chat.answer_loss import answer_loss
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.masks import unshareable
from lmod_train.models.chat.sequences import pack
from lmod_train.models.chat.shared_prefix import share
from tests.families import TINY
from tests.models.chat.quick import TWO, few
from tests.models.chat.written_once import write_tiny

QUESTIONS = [  # (image, text, answer)
    (0, "Does this eye have glaucoma?", "NON-GLAUCOMA"),
    (1, "Which stage?", "Stage 3, as the macula shows."),
    (0, "Does it show drusen of any size? Yes or no.", "Yes"),
    (-1, "What is an optic disc?", "Where the nerve leaves the eye."),
    (0, "Age?", "The patient is 61 years old."),
    (1, "Which modality is this photograph?", "CFP"),
    (-1, "Drusen?", "Deposits."),
]
SIZES = [(48, 48), (96, 64)]  # those of the second image differ where the family's tokens do


class Case:
    """A family's tiny network, and records as token ids."""

    def __init__(self, folder, model_type, **text):
        write_tiny(folder, model_type, **text)
        self.network = AutoModelForImageTextToText.from_pretrained(folder)
        self.processor = AutoProcessor.from_pretrained(folder)
        noise = np.random.default_rng(0)
        pictures = [Image.fromarray(noise.integers(0, 255, (h, w, 3), dtype=np.uint8)) for w, h in SIZES]
        self.alone = [self._processed(pictures[i] if i >= 0 else None, q) for i, q, _ in QUESTIONS]
        self.prompts = [one["input_ids"][0].tolist() for one in self.alone]
        end = self.processor.tokenizer.eos_token_id
        words = self.processor.tokenizer
        self.answers = [[*words(a, add_special_tokens=False).input_ids, end] for *_, a in QUESTIONS]
        self.images = [() if i < 0 else (i,) for i, *_ in QUESTIONS]
        self.network.gradient_checkpointing_enable({"use_reentrant": False})
        self.network.train()

    def _processed(self, picture, question):
        parts = [{"type": "image"}] * (picture is not None) + [{"type": "text", "text": question}]
        turns = [{"role": "user", "content": parts}]
        prompt = self.processor.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        kind = {"return_mm_token_type_ids": True}
        images = [[picture]] if picture else None
        made = self.processor(text=[prompt], images=images, return_tensors="pt", **kind)
        return {k: v for k, v in made.items() if k != "attention_mask"}

    def reference(self, record):
        """transformers' own loss of a record that stands alone, from pixels."""
        inputs = dict(self.alone[record])
        answer = torch.tensor([self.answers[record]])
        ids = torch.cat([inputs.pop("input_ids"), answer], 1)
        kinds = inputs.pop("mm_token_type_ids", None)
        kinds = inputs.pop("token_type_ids", kinds)
        if name := family_of(self.network).token_types:
            inputs[name] = functional.pad(kinds, (0, answer.shape[1]))
        labels = ids.clone()
        labels[:, : -answer.shape[1]] = -100
        return self.network(input_ids=ids, labels=labels, attention_mask=torch.ones_like(ids), **inputs).loss

    def rows(self, records):
        token = self.network.config.image_token_id
        images = [self.images[r] for r in records]
        made = share([self.prompts[r] for r in records], [self.answers[r] for r in records], images, token)
        return [[records[i] for i in row] for row in made]

    def packed(self, rows):
        return pack(rows, self.prompts, self.answers, self.images, pad=0)

    def loss(self, rows):
        return self.loss_of(self.packed(rows))

    def loss_of(self, made):
        shown = [self.alone[self.images.index((i,))] for i in made.images]
        grids = [s["image_grid_thw"] for s in shown if "image_grid_thw" in s]
        return answer_loss(self.network, made, self._encoded(shown), torch.cat(grids) if grids else None)

    def _encoded(self, shown):
        if not shown:
            return {}
        names = [k for k in ("image_sizes", "image_grid_thw", "pixel_attention_mask") if k in shown[0]]
        extra = {k: self._together([s[k] for s in shown]) for k in names}
        pixels = self._together([s["pixel_values"] for s in shown]).to(self.network.dtype)
        return {"image": self.network.get_image_features(pixels, return_dict=True, **extra)}

    @staticmethod
    def _together(tensors):
        if tensors[0].ndim > 3:  # tiles of an image may lie in a second axis
            tiles = max(t.shape[1] for t in tensors)
            tensors = [functional.pad(t, (0, 0) * (t.ndim - 2) + (0, tiles - t.shape[1])) for t in tensors]
        return torch.cat(tensors)

    def losses(self, rows):
        """The loss of each record of sequences, by its position."""
        made, found = self.packed(rows), {}
        for r, row in enumerate(rows):
            for segment, record in enumerate(row, 1):
                own = torch.zeros_like(made.weights)
                own[r] = made.weights[r] * (made.segment[r] == segment)
                found[record] = self.loss_of(replace(made, weights=own)).item() * made.records
        return found

    def gradients(self, loss):
        self.network.zero_grad()
        loss.backward()
        return {n: p.grad.clone() for n, p in self.network.named_parameters() if p.grad is not None}


def difference(first, second):
    """The largest difference of two sets of gradients, relative to the length of the whole gradient."""
    assert first.keys() == second.keys()
    length = torch.stack([g.norm() for g in first.values()]).norm()
    return (torch.stack([(first[n] - second[n]).norm() for n in first]).norm() / length).item()


@pytest.fixture(scope="module", params=few(TWO))
def case(request, tmp_path_factory):
    return Case(tmp_path_factory.mktemp(request.param), request.param)


EVERY = list(range(len(QUESTIONS)))


def assert_same(case, rows):
    """Compare with each record alone; return the difference of loss and of gradients."""
    expected = torch.stack([case.reference(i) for row in rows for i in row]).mean()
    ours = case.loss(rows)
    loss = abs(ours.item() / expected.item() - 1)
    gradients = difference(case.gradients(ours), case.gradients(expected))
    print(f"{case.network.config.model_type}: loss {loss:.1e}, gradients {gradients:.1e}")  # pytest -s shows it
    assert loss < 1e-5 and gradients < 1e-5


def test_loss_and_gradients_are_those_of_each_record_alone(case):
    rows = case.rows(EVERY)
    assert sorted(map(len, rows)) == [2, 2, 3], "three questions, two questions, and two without an image"
    assert_same(case, rows)


@pytest.mark.parametrize("broken", ["mask", "places", "labels"])
def test_the_comparison_sees_a_mistake(case, monkeypatch, broken):
    rows = case.rows(EVERY)
    made, right = case.packed(rows), case.loss(rows).item()
    if broken == "mask":  # questions see one another
        dense = masks.dense
        monkeypatch.setattr(masks, "dense", lambda sees, b, n, d: dense(lambda _, h, q, k: k <= q, b, n, d))
    elif broken == "places":  # questions stand one behind the other
        columns = torch.arange(made.place.shape[1]).expand_as(made.place)
        monkeypatch.setattr(shared_prefix, "three_axes", lambda n, s, g: columns.expand(3, -1, -1))
        made = replace(made, place=columns)
    else:
        made = replace(made, labels=made.labels.roll(1, 1))
    assert case.loss_of(made).item() != pytest.approx(right, rel=1e-3)


def test_one_record_a_sequence_gives_the_same(case):
    alone = case.packed([[i] for i in EVERY])
    assert not alone.shared
    assert case.loss_of(alone).item() == pytest.approx(case.loss(case.rows(EVERY)).item(), rel=1e-5)


def test_order_and_padding_do_not_matter(case):
    rows = case.rows(EVERY)
    turned = [row[::-1] for row in rows[::-1]]
    assert case.loss(turned).item() == pytest.approx(case.loss(rows).item(), rel=1e-5)
    by_row = sum(case.loss([row]).item() * len(row) for row in rows) / len(EVERY)  # a sequence of its own length each
    assert case.loss(rows).item() == pytest.approx(by_row, rel=1e-5)


def test_a_record_is_blind_to_its_neighbours(case, monkeypatch):
    rows = case.rows(EVERY)
    before = case.losses(rows)
    neighbour = rows[0][1]
    prompts = [list(p) for p in case.prompts]
    prompts[neighbour][-3:] = [40, 41, 42, 43, 44]
    answers = [list(a) for a in case.answers]
    answers[neighbour] = [50, 51, 52, 2]
    monkeypatch.setattr(case, "prompts", prompts)
    monkeypatch.setattr(case, "answers", answers)
    after = case.losses(rows)
    assert after.pop(neighbour) != pytest.approx(before.pop(neighbour), rel=1e-3)
    assert after == pytest.approx(before, rel=1e-5)


def test_it_runs_in_low_precision(case):
    rows = case.rows(EVERY)
    expected = case.loss(rows).item()
    try:
        case.network.to(torch.bfloat16)
        loss = case.loss(rows)
        loss.backward()
    finally:
        case.network.to(torch.float32)
    assert loss.dtype == torch.float32 and loss.item() == pytest.approx(expected, rel=0.1)


def test_without_a_record_the_loss_is_nothing_and_hangs_on_the_network(case):
    loss = case.loss([])
    assert loss.item() == 0.0
    assert all(g.abs().sum() == 0 for g in case.gradients(loss).values())


WINDOWED = {model_type: tiny.windowed for model_type, tiny in TINY.items() if tiny.windowed}


@pytest.mark.parametrize("model_type", few(("gemma3", "qwen2_5_vl"), tuple(WINDOWED)))
def test_a_sliding_window_counts_places(tmp_path, model_type):
    case = Case(tmp_path, model_type, **WINDOWED[model_type])
    rows = case.rows(EVERY)
    assert_same(case, rows)
    wide = Case(tmp_path, model_type)
    assert wide.loss(rows).item() != pytest.approx(case.loss(rows).item(), rel=1e-3), "the window is narrow enough"


@pytest.mark.parametrize("model_type", few(TWO))
def test_scores_to_which_masks_are_added(tmp_path, model_type):
    case = Case(tmp_path, model_type)
    case.network.set_attn_implementation("eager")
    assert_same(case, case.rows(EVERY))


def test_networks_in_which_it_is_not_known_to_hold(tmp_path):
    network = Case(tmp_path, "llava").network
    assert unshareable(network) == ""
    network.set_attn_implementation("eager")
    assert unshareable(network) == ""
    text = network.config.get_text_config()
    text._attn_implementation_internal = "flash_attention_2"
    assert "takes no mask" in unshareable(network)
    text._attn_implementation_internal = "sdpa"
    text.layer_types = ["full_attention", "linear_attention"]
    assert "layers of linear_attention" in unshareable(network)
    text.layer_types, text.model_type = None, "mamba"
    assert "the form of attention masks of a mamba is not known" in unshareable(network)


def test_prompts_that_part_before_the_image_ends_do_not_share():
    prompts = [[1, 9, 9, 5, 6], [1, 9, 9, 5, 7], [2, 9, 9, 5], [1, 9, 9], [1, 9, 9]]
    assert share(prompts, [[3]] * 5, [(0,)] * 5, 9) == [[0, 1], [2], [3], [4]]
    assert share(prompts[:2], [[3]] * 2, [(0,), (1,)], 9) == [[0], [1]], "two images"
    assert share(prompts[:2], [[3]] * 2, [(0, 1), (1, 0)], 9) == [[0], [1]], "the same images in another order"
    assert share(prompts[:2], [[3]] * 2, [(0, 1), (0, 1)], 9) == [[0, 1]]
    assert share([], [], [], 9) == []


def test_records_without_an_image_fill_what_the_longest_needs():
    prompts = [[1, *[9] * 9, 5], [1, 4], [1, 6], [1, 7], [8]]
    assert share(prompts, [[3]] * 5, [(0,), (), (), (), ()], 9) == [[0], [1, 2, 3, 4]]
    assert share(prompts[1:], [[3]] * 4, [()] * 4, 9) == [[0], [1], [2], [3]], "nothing is gained"
