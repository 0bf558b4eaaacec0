"""Refusals in English and Chinese, and answers that are none."""

from __future__ import annotations

from tests.tabled import tabled
from tests.tasks.parsing.asked import ASKS, parse
from tests.tasks.parsing.test_option import outcome

CANNOT = ("I cannot", "I can't", "I am unable to", "I'm not able to", "It is not possible to", "I would rather not")
DO = ("comment on this image", "give an opinion on it", "judge this picture", "assess it", "make a diagnosis")
MISSING = (
    "No image was attached.", "There is no image attached to your message.", "No photograph has been provided.",
    "I don't see any image here.", "I can't open the picture.", "The image did not come through.",
    "The photo failed to load.", "Could you upload the image again?", "Would you please send the photograph?",
    "Please attach the image.", "I don't have the ability to view images.", "I do not have access to the picture.",
    "I lack the ability to see images.", "I am a text-only model.", "This is beyond my capabilities.",
    "图片未上传成功。", "您没有上传图像。", "未收到图片。", "我没有看到您的图片，请重新上传。", "我看不到图片。",
     "我不具备查看图像的能力。",
    "请提供眼底图像。", "这超出了我的能力范围。", "恕我不便评论。", "我无法评论该图像。",
)  # fmt: skip


@tabled("ask", ASKS)
def test_every_task_reads_a_refusal_as_refused(ask: str) -> None:
    texts = [*(f"{cannot} {do}." for cannot in CANNOT for do in DO), *MISSING]
    read = {text: parse(ask, text) for text in texts}
    assert {text: answer for text, answer in read.items() if getattr(answer, "reason", "") != "refused"} == {}


CARE = ("observe", "review in 12 months", "refer to an eye specialist", "treat now")


@tabled(
    ("text", "wanted"),
    [
        ("refer to an eye specialist", "C"),
        ("Answer: C. Refer to an eye specialist.", "C"),
        ("The patient should be referred to an eye specialist.", "?no_match"),
        ("refer to an eye specialist or treat now", "?ambiguous"),
        ("You should refer to an eye specialist. B", "?ambiguous"),
        ("Please refer to an eye specialist. B", "?ambiguous"),
        ("Refer to an eye specialist. B", "?ambiguous"),
        ("I cannot tell. Please consult a doctor.", "?refused"),
    ],
)
def test_an_option_that_reads_like_a_refusal_is_none(text: str, wanted: str) -> None:
    assert outcome(text, CARE) == wanted
