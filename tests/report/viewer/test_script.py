"""What the page's script finds and in which order, run by Node where it is installed."""

import json
import shutil
import subprocess

import pytest

from lmod_train.report.writers.template import FOLDER

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

INDEX = {
    "size": 250,
    "models": [{"label": "a"}, {"label": "b"}, {"label": "c"}],
    "outcomes": ["right", "partly right", "wrong", "unparsed", "refused", "truncated", "failed"],
    "errors": [""],
    "records": {"id": ["q1", "q2"]},
    "replies": {
        "model": [0, 0, 1, 1, 2, 2],
        "record": [0, 1, 0, 1, 0, 1],
        "outcome": [0, 2, 3, 0, 1, 2],
        "error": [0] * 6,
    },
}


def said(expression, files=("data", "filters", "search", "detail", "csv"), place=None):
    """Return the value of an expression after the scripts, with a stand-in for a page at a place."""
    scripts = [(FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in files]
    stand_in = f"""
        globalThis.window = {{}};
        const byId = () => null, byPlace = {json.dumps({"item": "", "with": [], **(place or {})})};
        const readPlace = () => byPlace;
        const itemOf = name => data.siblings.get(name.split("\\n")[1])?.find(i => modelOf(i) === name.split("\\n")[0]);
        const itemName = reply => `${{modelOf(reply)}}\\n${{idOf(reply)}}`;
        let went; const go = changes => {{ went = changes; }};"""
    end = f"openIndex({json.dumps(INDEX)}); console.log(JSON.stringify({expression}));"
    ran = subprocess.run(["node", "-"], input="\n".join([stand_in, *scripts, end]), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize(("order", "found"), [("", [1, 5, 4, 2, 0, 3]), ("asked", [0, 1, 2, 3, 4, 5])])
def test_wrong_answers_stand_first_unless_the_order_of_the_records_is_asked(order, found):
    assert said(f"matching({{ order: {json.dumps(order)} }})") == found


@pytest.mark.parametrize(
    ("words", "found"), [("blurred", [0]), ("GLAUCOMA", [0, 2, 4]), ("look at", []), ("chain 1;", [1, 3, 5])]
)
def test_a_search_reads_replies_and_truths_and_not_the_prompt(words, found):
    records = {
        "texts": ["Look at the image: glaucoma, cataract or blurred?"],
        "rows": [
            {"id": id, "truth": truth, "reference": truth, "choices": ["cataract"], "chain": chain,
             "messages": [["user", [0]]]}
            for id, truth, chain in (("q1", "glaucoma", ""), ("q2", "normal", "1"))
        ],
    }  # fmt: skip
    unread = {"answer": "", "error": "", "reason": ""}
    replies = [unread | {"pieces": ["it is ", word]} for word in ("Blurred", *"bcdef")]
    kept = f"(keepTexts('records-0', {json.dumps(records)}), keepTexts('replies-0', {json.dumps({'rows': replies})}))"
    asked = {"q": words, "order": "asked"}
    assert said(f"({kept}, matching({json.dumps(asked)}))") == found


@pytest.mark.parametrize(
    ("item", "beside", "compared", "next_"),
    [
        ("a\nq1", [], ["b", "c"], {"item": "b\nq1", "with": []}),
        ("c\nq2", ["a", "b"], [], {"item": "a\nq2", "with": ["b", "c"]}),
        ("", [], [], None),
    ],
)
def test_keys_show_the_other_models_of_a_question_beside_it_and_the_next_one(item, beside, compared, next_):
    place = {"item": item, "with": beside}
    assert said("(compare(), went)", place=place) == {"with": compared}
    assert said("(otherModel(), went ?? null)", place=place) == next_
