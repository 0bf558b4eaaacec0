"""Rendering of records as the text of a prompt and of an answer, by the chat template of a processor.

Training and inference use the same rendering: the training text is the inference prompt, the answer and the end token,
so that the inference prompt is a prefix of the training text and the model learns to stop. (The chat template of the
llava-hf checkpoints writes no end token after an answer; a model tuned with it unchanged never learns to stop.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from PIL import Image

from lmod_train.core.errors import BadArgument, WeightsMismatch
from lmod_train.core.types import Message, Part, Record
from lmod_train.models.chat.prompting import Prompting
from lmod_train.models.chat.template_trial import rendered

_PREFIX = "a generation prompt that is a prefix of the rendered answer"
_SWITCH = "enable_thinking"
_LITERAL = "{{ rendered }}"
"""A chat template that writes a text as it is."""


class Rendering:
    """Renders records by the chat template of a processor.

    Args:
        processor: Processor of a checkpoint; its chat template is replaced by that of `prompting`, if it states one,
            and its tokenizer gets a padding token, if it has none.
        prompting: Template, system text and thinking.
        folder: Folder of the checkpoint, for error messages.

    Raises:
        WeightsMismatch: There is no chat template.
        BadArgument: `prompting` turns on thinking, and the template has no such switch.
    """

    def __init__(self, processor: Any, prompting: Prompting, folder: Path) -> None:
        self.processor, self.tokenizer, self.prompting = processor, processor.tokenizer, prompting
        self.folder = str(folder)
        if text := prompting.template_text():
            processor.chat_template = text
        if not processor.chat_template:
            cure = (
                "add the chat_template.jinja that was published with these weights; without it the prompt is unknown; "
                "for a model that takes plain words, such as PaliGemma, set `prompt.template: words`"
            )
            raise WeightsMismatch(str(folder), ["chat_template"], [], cure)
        if prompting.thinking and _SWITCH not in processor.chat_template:
            expected = f"false, as the chat template of {folder} has no switch {_SWITCH}"
            raise BadArgument("prompt.thinking", True, expected, "leave it out for this checkpoint")
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.unk_token or self.tokenizer.eos_token

    def prompt(self, record: Record) -> str:
        """Return the prompt of a record as sent, with one marker per image.

        Raises:
            WeightsMismatch: The template raises an error.
            BadArgument: The template does not render the record's system message as such.
        """
        return self.asked(self._checked(record))

    def asked(self, turns: list[dict[str, Any]]) -> str:
        """Return turns as a prompt.

        Raises:
            WeightsMismatch: The template raises an error.
        """
        try:
            return str(self.apply(turns, add_generation_prompt=True))
        except TemplateError as error:
            raise self._raised(error) from error

    def _raised(self, error: TemplateError) -> WeightsMismatch:
        cure = "use the chat_template.jinja that was published with these weights, or name one by `prompt.template`"
        missing = f"a chat template that renders a question (it raises {type(error).__name__}: {error})"
        return WeightsMismatch(self.folder, [missing], [], cure)

    def render(self, record: Record, end: str) -> tuple[str, str]:
        """Return the prompt as sent, and the text that follows it in training; empty for a record without an answer.

        The words of the record are not changed, but a template may trim the spaces around them (Gemma's does), and
        white space at the ends of the answer is removed, as in replies.

        Args:
            record: The record.
            end: Text that ends an answer, see `ending`.

        Raises:
            WeightsMismatch: The template raises an error, or renders the prompt differently before an answer.
            BadArgument: The template does not render the record's system message as such.
        """
        if not (answer := record.taught.strip()):
            return self.prompt(record), ""
        turns = self._checked(record)
        try:
            prompt, lead, _ = self._written(turns, answer)
        except TemplateError as error:
            raise self._raised(error) from error
        return prompt, lead + answer + end

    def _checked(self, record: Record) -> list[dict[str, Any]]:
        turns = self.turns(record.messages)
        check_system_message(self.apply, turns, self.tokenizer.name_or_path)
        return turns

    def turns(self, messages: Sequence[Message], pictures: Sequence[Image.Image] = ()) -> list[dict[str, Any]]:
        """Return messages in the format of chat templates, after the system text of the options.

        Args:
            messages: Messages of a record.
            pictures: The pictures of its image parts, in order; empty to leave them out.
        """
        left = iter(pictures)

        def content(part: Part) -> dict[str, Any]:
            if part.type == "text":
                return {"type": "text", "text": part.text}
            return {"type": "image", "image": next(left)} if pictures else {"type": "image"}

        turns = [{"role": m.role, "content": [content(p) for p in m.parts]} for m in messages]
        return self._with_system_prompt(turns)

    def _with_system_prompt(self, turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if not self.prompting.system_prompt:
            return turns
        own, rest = ([], turns) if turns[0]["role"] != "system" else (turns[0]["content"], turns[1:])
        text = self.prompting.system_prompt + ("\n\n" if own else "")
        return [{"role": "system", "content": [{"type": "text", "text": text}, *own]}, *rest]

    def apply(self, turns: list[dict[str, Any]], *, tokenize: bool = False, **options: Any) -> Any:
        """Return turns as the processor's chat template renders them, with the switch for thinking if it has one.

        The template, which may be from others, is tried before it is rendered (`template_trial`).

        Raises:
            TemplateError: The template raises an error, or does too much.
        """
        template = self._template()
        shown = {
            **self.tokenizer.special_tokens_map,
            "add_generation_prompt": options.pop("add_generation_prompt", False),
        }
        if _SWITCH in template:
            shown[_SWITCH] = self.prompting.thinking
        if self.prompting.template:
            shown["image_token"] = getattr(self.processor, "image_token", "<image>")
        text = rendered(template, turns, shown)
        if not tokenize:
            return text
        return self.processor.apply_chat_template(turns, _LITERAL, tokenize=True, rendered=text, **options)

    def _template(self) -> str:
        found = self.processor.chat_template
        return str(found.get("default", "")) if isinstance(found, Mapping) else str(found)

    def ending(self) -> tuple[str, int]:
        """Return the text that ends an answer, and the id of its token, at which generation stops.

        It is the special token that the template writes there, else the tokenizer's.

        Raises:
            WeightsMismatch: The template raises an error, or renders the prompt differently before an answer.
        """
        turns = [{"role": "user", "content": [{"type": "text", "text": "question"}]}]
        try:
            _, _, tail = self._written(turns, "answer")
        except TemplateError as error:
            raise self._raised(error) from error
        special = {str(token): i for i, token in self.tokenizer.added_tokens_decoder.items() if token.special}
        for token, i in special.items():
            if tail.lstrip().startswith(token):
                return tail[: tail.index(token) + len(token)], int(i)
        return self.tokenizer.eos_token, int(self.tokenizer.eos_token_id)

    def _written(self, turns: list[dict[str, Any]], answer: str) -> tuple[str, str, str]:
        """Return the prompt, the white space between it and the answer, and the text after the answer.

        White space at the end of the prompt may differ before an answer (LLaVA-OneVision's template writes a space
        between `assistant` and the line break, but not in its generation prompt). Training then uses that of inference.
        """
        answered = [*turns, {"role": "assistant", "content": [{"type": "text", "text": answer}]}]
        prompt, whole = self.apply(turns, add_generation_prompt=True), self.apply(answered)
        begun = prompt if whole.startswith(prompt) else prompt.rstrip()
        lead, found, tail = whole[len(begun) :].partition(answer)
        if not whole.startswith(begun) or not found or lead.strip():
            cure = (
                "give the checkpoint a chat template in which add_generation_prompt=True renders a prefix of the "
                "conversation with its answer; otherwise training and inference use different prompts (a template "
                "that opens a thinking block belongs to a reasoning model: use the instruct variant)"
            )
            raise WeightsMismatch("chat_template", [_PREFIX], [], cure)
        return prompt, lead if begun == prompt else "", tail

    def refusal(self, record: Record) -> str:
        """Return why a record cannot be asked, as a model would read its words as control tokens; empty if it can."""
        words = (part.text for message in record.messages for part in message.parts if part.type == "text")
        return self._holding("words", "\n".join(words))

    def refused_answer(self, answer: str) -> str:
        """Return why an answer cannot be trained on; empty if it can."""
        return self._holding("answer", answer)

    def image_token_in(self, part: str) -> str:
        """Return the reason of a record whose words or answer spell the model's image token in another way."""
        return f"its {part} must not contain the model's image token ({getattr(self.processor, 'image_token', '')})"

    def _holding(self, part: str, text: str) -> str:
        found = self._control.search(text)
        if found is None:
            return ""
        if found[0] == getattr(self.processor, "image_token", None):
            return self.image_token_in(part)
        return f"its {part} must not contain a control token of the model's tokenizer ({found[0]})"

    def check_markers(self, record: Record, prompt: str) -> None:
        """Check that a record and its prompt have one place for each of its images.

        Raises:
            BadArgument: There are more or fewer.
        """
        places = sum(part.type == "image" for message in record.messages for part in message.parts)
        marker, wanted = getattr(self.processor, "image_token", None), len(record.image)
        if places != wanted:
            expected = f"{wanted}, one for each image of the record"
            cure = "leave the task out of data.tasks, or curate it again"
            raise BadArgument(f"messages of {record.id}", f"{places} image part(s)", expected, cure)
        if marker and prompt.count(marker) != wanted:
            raise BadArgument(
                f"prompt of {record.id}",
                prompt,
                f"{marker} {wanted} time(s): once for each image of the record, and not in its words",
                "use the chat template published with the weights, or leave the task out of data.tasks",
            )

    @cached_property
    def _control(self) -> re.Pattern[str]:
        """Pattern of the tokenizer's special tokens and of that of images, longest first."""
        marker = str(getattr(self.processor, "image_token", None) or "")
        named = {str(token) for token in self.tokenizer.added_tokens_decoder.values() if token.special}
        tokens = sorted((named | {*self.tokenizer.all_special_tokens, marker}) - {""}, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, tokens)) or r"(?!)")

    def continued(self, prompt: str, answer: str) -> tuple[list[int], list[int]]:
        """Return the token ids of a prompt and of the text that follows it.

        They are tokenised together. Where that would merge the first characters of the answer into the last token of
        the prompt, the answer is tokenised alone, as the prompt must be the same without it.
        """
        ids, whole = self.ids(prompt), self.ids(prompt + answer)
        if whole[: len(ids)] == ids:
            return ids, whole[len(ids) :]
        return ids, list(self.tokenizer(answer, add_special_tokens=False).input_ids)

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text, after the token that begins texts unless the text begins with it."""
        return list(self.tokenizer(text, add_special_tokens=not self.begins(text)).input_ids)

    def begins(self, text: str) -> bool:
        """Return whether a text begins with the token that begins texts."""
        return self.tokenizer.bos_token is not None and text.startswith(self.tokenizer.bos_token)


Turns = Sequence[Mapping[str, Any]]
Template = Callable[..., str]
"""Function that renders turns as text; takes `add_generation_prompt`."""


def check_system_message(template: Template, turns: Turns, place: str) -> None:
    """Refuse turns with a system message that the template does not render as such.

    A template may write the system message at the start of the user's turn, as Gemma's does, and may trim white space
    at its ends. Turns without a system message are not checked.

    Args:
        template: Function that renders turns as text.
        turns: Messages of one record, each with `role` and `content`, a list of parts.
        place: Folder of the checkpoint, for the error message.

    Raises:
        BadArgument: The template drops part of the system message, renders it after the user's words or as an
            assistant's turn, or raises on it.
    """
    if all(turn["role"] != "system" for turn in turns):
        return
    problem = _problem(template, turns)
    if problem:
        expected = "a template that renders a system message before the user's words and not as an assistant's turn"
        cure = (
            "give its chat_template.jinja a branch for message['role'] == 'system' (that of the small base has one), "
            "or leave the tasks with system messages out of data.tasks, or write these words into the user's messages "
            "and curate again"
        )
        raise BadArgument(f"chat_template of {place}", problem, expected, cure)


def _problem(template: Template, turns: Turns) -> str:
    """Return what is wrong with the rendered system message; empty if it is correct."""
    try:
        prompt = template(turns, add_generation_prompt=True)
    except TemplateError as error:
        return f"it raises {error}"
    place = 0
    for role, words in _texts(turns):
        found = prompt.find(words, place)
        if found < 0 and role == "system":
            return f"it does not write {words[:60]!r} of the system message"
        if found < 0:
            return "it does not write the system message before the user's words"
        place = found + len(words)
    return "it writes the system message as an assistant's turn" if _as_assistant(template) else ""


def _texts(turns: Turns) -> list[tuple[str, str]]:
    """Return role and text of each text part of system messages and of all turns up to the first user message."""
    first = next((i for i, turn in enumerate(turns) if turn["role"] == "user"), len(turns) - 1)
    read = [turn for i, turn in enumerate(turns) if i <= first or turn["role"] == "system"]
    return [(t["role"], part["text"].strip()) for t in read for part in t["content"] if part["type"] == "text"]


def _as_assistant(template: Template) -> bool:
    """Return whether the template renders a system message as an assistant's turn."""
    system, user = _turn("system", "SYSTEM-WORDS"), _turn("user", "USER-WORDS")
    asked, prompt = (template([user], add_generation_prompt=prompted) for prompted in (False, True))
    if prompt == "USER-WORDS":  # no role is written at all
        return False
    opening = prompt[len(asked) :].strip() if prompt.startswith(asked) else ""
    written = template([system, user])
    if opening:
        return written.partition("SYSTEM-WORDS")[0].rstrip().endswith(opening)
    try:  # a template that only ends the user's turn, as Mistral's
        return written == template([_turn("assistant", "SYSTEM-WORDS"), user])
    except TemplateError:
        return False


def _turn(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}
