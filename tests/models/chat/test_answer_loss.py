"""The loss of a batch with adapters on every family: shared or not, mixed, text alone, too long, nothing at all."""

from weakref import WeakKeyDictionary

import pytest
import torch
from PIL import Image

from lmod_train.models.chat.adapters import Lora, trainable
from lmod_train.models.chat.answer_loss import batch_loss, too_long, weight_of
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import encode
from tests.models.chat.quick import TWO, few
from tests.models.chat.written_once import write_tiny
from tests.tiny import record, write_curated

RECORDS = [
    record("a/1", "Does this eye have glaucoma?", ["a.png"], "NON-GLAUCOMA"),
    record("b/1", "Which stage?", ["b.png"], "Stage 3, as the macula shows."),
    record("a/2", "Does it show drusen of any size?", ["a.png"], "Yes"),
    record("text/1", "What is an optic disc?", [], "Where the nerve leaves the eye."),
    record("a/3", "Age?", ["a.png"], "The patient is 61 years old."),
    record("text/2", "Drusen?", [], "Deposits."),
]
TEXT = [r for r in RECORDS if not r.image]


class Tuned:
    """A tiny network of a family with adapters that are not zero, projector and tower learning."""

    def __init__(self, folder, model_type):
        self.folder = write_curated(folder, RECORDS, side=56)
        checkpoint = folder / "checkpoint"
        checkpoint.mkdir()
        write_tiny(checkpoint, model_type)
        self.dialect = Dialect(checkpoint)
        torch.manual_seed(0)
        self.model = trainable(load(checkpoint), Lora(4, 8, 0.0), tune_tower=True)
        self.network = self.model.get_base_model()
        for parameter in self.model.parameters():
            if parameter.requires_grad and not parameter.any():
                torch.nn.init.normal_(parameter, std=0.2)
        self.network.gradient_checkpointing_enable({"use_reentrant": False})
        self.blank = self.dialect.images([Image.new("RGB", (64, 64))])

    def loss(self, records, shared=True, max_tokens=2048, over="answer"):
        batch = self.dialect(records, self.folder)
        return batch_loss(self.network, batch, 0, max_tokens, shared, self.blank, over=over)

    def of_transformers(self, one):
        """Return transformers' own mean loss of one record, and how many tokens it is over."""
        batch = self.dialect([one], self.folder)
        (prompt,), (answer,) = batch.prompt_ids, batch.answer_ids
        ids = torch.tensor([prompt + answer])
        labels = torch.tensor([[-100] * len(prompt) + answer])
        images = encode(self.network, batch.images)
        given = images.inputs(ids, [0] if one.image else [])
        with torch.no_grad():
            return self.network(input_ids=ids, labels=labels, **given).loss.item(), len(answer)

    def gradients(self, loss):
        self.model.zero_grad()
        loss.backward()
        learns = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        return {n: p.grad for n, p in learns.items()}


@pytest.fixture(scope="module", params=few(TWO))
def tuned(request, tmp_path_factory):
    return Tuned(tmp_path_factory.mktemp(request.param), request.param)


def test_sharing_changes_neither_loss_nor_gradients(tuned):
    seen = []
    hook = tuned.network.register_forward_pre_hook(
        lambda _, args, given: seen.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    losses = [tuned.loss(RECORDS, shared) for shared in (True, False)]
    hook.remove()
    assert [shape[0] for shape in seen] == [3, 6] and seen[0][1] > seen[1][1]
    together, alone = (tuned.gradients(loss) for loss in losses)
    assert losses[0].item() == pytest.approx(losses[1].item(), rel=1e-5)
    length = torch.stack([g.norm() for g in alone.values() if g is not None]).norm()
    apart = torch.stack([(g - alone[n]).norm() for n, g in together.items() if g is not None]).norm() / length
    print(f"{tuned.network.config.model_type}: gradients with adapters {apart.item():.1e}")  # pytest -s shows it
    assert apart < 1e-5


def test_all_that_learns_has_a_gradient_whatever_the_batch_holds(tuned):
    expected = {n for n, g in tuned.gradients(tuned.loss(RECORDS)).items() if g is not None}
    assert any("lora_" in n for n in expected)
    assert "tower" in {tuned.dialect.family.part(n) for n in expected}
    for records, limit in ((TEXT, 2048), (RECORDS[:1], 5), (RECORDS, 5), (TEXT, 5)):
        loss = tuned.loss(records, max_tokens=limit)
        found = tuned.gradients(loss)
        assert {n for n, g in found.items() if g is not None} == expected
        assert all(torch.isfinite(g).all() for g in found.values() if g is not None)
        if limit == 5:
            assert loss.item() == 0 and not any(g.any() for g in found.values() if g is not None)
        else:
            assert loss.item() > 0
            seeing = [g for n, g in found.items() if g is not None and tuned.dialect.family.part(n) != "language_model"]
            assert not any(g.any() for g in seeing), "the blank image teaches nothing"


def test_a_record_that_is_too_long_is_left_out_whole(tuned):
    batch = tuned.dialect(RECORDS, tuned.folder)
    lengths = [len(p) + len(a) for p, a in zip(batch.prompt_ids, batch.answer_ids, strict=True)]
    longest = max(lengths)
    out = too_long(batch, longest - 1)
    assert out == [i for i, length in enumerate(lengths) if length == longest] and len(out) < len(RECORDS)
    assert too_long(batch, longest) == []
    rest = [r for i, r in enumerate(RECORDS) if i not in out]
    for shared in (True, False):
        without = tuned.loss(RECORDS, shared, max_tokens=longest - 1).item()
        assert without == pytest.approx(tuned.loss(rest, shared).item(), rel=1e-5)


def test_over_tokens_it_is_the_loss_of_transformers_over_answers_the_mean_of_its_means(tuned):
    """`Trainer` divides the sum over a step by the tokens of the step (`num_items_in_batch`)."""
    means, tokens = zip(*(tuned.of_transformers(r) for r in RECORDS), strict=True)
    assert len(set(tokens)) > 2, "answers of several lengths"
    by_token = sum(m * n for m, n in zip(means, tokens, strict=True)) / sum(tokens)
    by_answer = sum(means) / len(means)
    assert abs(by_token - by_answer) > 1e-3 * by_answer
    for shared in (True, False):
        assert tuned.loss(RECORDS, shared, over="token").item() == pytest.approx(by_token, rel=1e-4)
        assert tuned.loss(RECORDS, shared, over="answer").item() == pytest.approx(by_answer, rel=1e-4)


def test_what_a_batch_is_divided_by_leaves_out_what_is_too_long(tuned):
    batch = tuned.dialect(RECORDS, tuned.folder)
    prompts, answers = batch.prompt_ids, batch.answer_ids
    lengths = [len(p) + len(a) for p, a in zip(prompts, answers, strict=True)]
    kept = [a for a, length in zip(answers, lengths, strict=True) if length <= max(lengths) - 1]
    assert weight_of(batch, 2048, "answer") == len(RECORDS) > len(kept)
    assert weight_of(batch, max(lengths) - 1, "answer") == len(kept)
    assert weight_of(batch, max(lengths) - 1, "token") == sum(map(len, kept))
    assert weight_of(batch, 1, "token") == 0 and tuned.loss(TEXT, max_tokens=5, over="token").item() == 0


@pytest.mark.parametrize("words", [300, 5000])
def test_in_chunks_loss_and_gradients_are_those_of_all_logits_at_once(tuned, monkeypatch, words):
    """`words` logits at once are those of one place, or of several and a rest; the head learns too.

    Gradients are compared in float64, in which norms stay in float32. In float32 they differ by less than those of all
    logits at once are off.
    """
    head = tuned.network.get_output_embeddings()
    head.weight.requires_grad_(True)

    def computed(at_once):
        monkeypatch.setattr("lmod_train.models.chat.answer_loss.AT_ONCE", at_once)
        loss = tuned.loss(RECORDS)
        return loss.item(), {n: g.double() for n, g in tuned.gradients(loss).items() if g is not None}

    def apart(some, other):
        assert some.keys() == other.keys()
        return torch.stack([(some[n] - g).norm() for n, g in other.items()]).norm().item()

    sizes = []
    try:
        whole, chunks = computed(2**25), computed(words)
        tuned.network.double()
        exact = computed(2**25)
        hook = head.register_forward_hook(lambda _, given, made: sizes.append(tuple(made.shape)))
        found = computed(words)
        hook.remove()
    finally:
        tuned.network.float()
        head.weight.requires_grad_(False)
    assert len(sizes) == 1 and len(sizes[0]) == 1, "the head returned losses"
    length = torch.stack([g.norm() for g in exact[1].values()]).norm().item()
    assert found[0] == pytest.approx(exact[0], rel=1e-12) and apart(found[1], exact[1]) < 1e-7 * length
    assert any(g.abs().sum() > 0 for n, g in found[1].items() if "lm_head" in n)
    rounded = apart(whole[1], exact[1])
    print(
        f"{tuned.network.config.model_type}: {apart(chunks[1], whole[1]) / length:.1e}, rounding {rounded / length:.1e}"
    )
    assert chunks[0] == pytest.approx(whole[0], rel=1e-6) and apart(chunks[1], whole[1]) < rounded


def test_no_logits_are_kept_for_the_backward_pass(tuned, monkeypatch):
    vocabulary = tuned.network.get_output_embeddings().weight.shape[0]
    monkeypatch.setattr("lmod_train.models.chat.answer_loss.AT_ONCE", 300)
    kept = []

    def keep(tensor):
        kept.append(tuple(tensor.shape))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        tuned.loss(RECORDS).backward()
    tuned.model.zero_grad()
    assert kept and not [shape for shape in kept if len(shape) == 2 and shape[1] == vocabulary and shape[0] > 1]


def test_logits_that_change_behind_the_head_are_kept_whole(tuned, monkeypatch):
    """As Gemma 2's, whose logits are bounded; here by a hook of the network."""

    def bounded(module, given, made):
        made.logits = 3 * torch.tanh(made.logits / 3)
        return made

    whole = tuned.loss(RECORDS).item()
    hook = tuned.network.register_forward_hook(bounded)
    try:
        monkeypatch.setattr("lmod_train.models.chat.answer_loss._ENDS_IN_HEAD", WeakKeyDictionary())
        expected = tuned.loss(RECORDS).item()
        monkeypatch.setattr("lmod_train.models.chat.answer_loss.AT_ONCE", 300)
        with pytest.warns(UserWarning, match="changes the logits behind its head"):
            assert tuned.loss(RECORDS).item() == pytest.approx(expected, abs=1e-6)
    finally:
        hook.remove()
    assert abs(whole - expected) > 1e-3
    assert "forward" not in vars(tuned.network.get_output_embeddings())
