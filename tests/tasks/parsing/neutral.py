r"""Changes of a reply that leave its answer as it is, for the test that they do.

A change takes a reply and returns it in another form, or None where the form does not suit it.
"""

from __future__ import annotations

import json
from collections.abc import Callable

LONGEST_CELL = 200


def _cell(form: str) -> Callable[[str], str | None]:
    """Return a change that puts a reply of one line into a form."""

    def changed(reply: str) -> str | None:
        plain = reply.strip()
        if not plain or len(plain) > LONGEST_CELL or set(plain) & set('\n|{}[]<>"`*_#~\\:=：＝；;✅❌☑☐✓✗'):
            return None
        return form.replace("{r}", plain)

    return changed


def _whole(form: str) -> Callable[[str], str | None]:
    return lambda reply: form.replace("{r}", reply) if reply.strip() else None


def _as_json(reply: str) -> str | None:
    if len(reply) > LONGEST_CELL or not reply.strip() or set(reply) & set("{}<>|\\✅❌☑☐"):
        return None
    return json.dumps({"answer": reply.strip(), "confidence": 0.9}, ensure_ascii=False)


CHANGES: dict[str, Callable[[str], str | None]] = {
    "thinking": _whole("<think>It might be glaucoma or drusen; TRUE? Stage 2? no.</think>\n{r}"),
    "thinking_zh": _whole("<think>可能是青光眼，也可能不是。</think>{r}"),
    "special": _whole("{r}</s>"),
    "blanks": _whole("\n\n  {r}  \n\n"),
    "fence": _whole("```\n{r}\n```"),
    "fence_json": lambda reply: f"```json\n{reply}\n```" if reply.strip().startswith("{") else None,
    "rule": _whole("{r}\n\n---\n"),
    "disclaimer": _whole("{r}\n\n---\n*This is an automated reading and does not replace an eye examination.*"),
    "disclaimer_zh": _whole("{r}\n\n---\n*以上内容由模型生成，仅供参考。*"),
    "note": _whole("{r}\n\nNote: this reading was made from one image."),
    "greeting": _whole("Sure! Here is my reading of the image:\n\n{r}"),
    "greeting_zh": _whole("好的，以下是我的判读：\n\n{r}"),
    "confidence": _whole('{r}\n\n{"confidence": 0.9}'),
    "version": _whole('{"model": "eye-vl", "version": 3}\n\n{r}'),
    "bold": _cell("**{r}**"),
    "code": _cell("`{r}`"),
    "quoted": _cell("> {r}"),
    "bullet": _cell("- {r}"),
    "heading": _cell("# {r}"),
    "paragraph": _cell("<p>{r}</p>"),
    "answer_tag": _cell("<answer>{r}</answer>"),
    "tag": _cell("<result><answer>{r}</answer><confidence>90</confidence></result>"),
    "boxed": _cell("\\boxed{{r}}"),
    "table": _cell("| Answer | Confidence |\n|---|---|\n| {r} | 90 % |"),
    "table_zh": _cell("| 结论 | 置信度 |\n|---|---|\n| {r} | 90 % |"),
    "labelled": _cell("Answer: {r}"),
    "labelled_zh": _cell("结论：{r}"),
    "box": _cell("- [x] {r}"),
    "json": _as_json,
    "explained": lambda reply: None if "xplanation" in reply else f"{reply.rstrip()}\nExplanation: as seen.",
}
"""Name -> change."""
