# ruff: noqa: E501 - a template is one line
"""Chat templates of others: the same texts as by transformers, and an end to those that would not end."""

import os
import time

import jinja2
import pytest
from PIL import Image
from transformers.utils.chat_template_utils import render_jinja_template

from lmod_train.core.extension import PACKAGE
from lmod_train.models.chat import template_trial
from lmod_train.models.chat.template_trial import rendered
from tests import families

SPECIAL = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "pad_token": "<pad>",
    "image_token": "<image>",
    "enable_thinking": False,
}
TURNS = [
    {"role": "system", "content": [{"type": "text", "text": "You are an ophthalmologist."}]},
    {"role": "user", "content": [{"type": "image", "image": Image.new("RGB", (2, 2))}, {"type": "text", "text": " Is it {{ x }} 青光眼?\n"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "<think>\nno\n</think>\n\nYes. {% if %}"}]},
    {"role": "user", "content": [{"type": "text", "text": "Why? <b>&amp;</b> 'a' \"b\" \\n"}]},
]  # fmt: skip
PLAIN = [{"role": turn["role"], "content": turn["content"][-1]["text"]} for turn in TURNS]
CONVERSATIONS = {
    "parts": TURNS,
    "one": TURNS[1:2],
    "answered": TURNS[:3],
    "plain": PLAIN,
    "long": TURNS[:2] + TURNS[2:] * 40,
}

PUBLISHED = {
    "thinking": """
{%- if tools %}{{- 'tools' }}{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}{%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}{%- set content = message.content %}{%- else %}{%- set content = '' %}
    {%- for part in message.content %}{%- if part.text %}{%- set content = part.text %}{{- part.text | trim }}{%- endif %}{%- endfor %}{%- endif %}
    {%- if '</think>' in content %}
        {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning.strip('\\n') + content }}
    {%- else %}{{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}{%- endif %}
    {%- if loop.last or (not loop.last and loop.nextitem.role == 'user') %}{{ loop.index ~ '/' ~ loop.length }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}
""",
    "macros": """{{ bos_token }}{% macro part(p, n=1) %}{% if p.type == 'image' %}<image_{{ n }}>{% elif p['type'] == 'text' %}{{ p['text'] | trim | replace('a', 'aa') | upper }}{% else %}{{ raise_exception('no') }}{% endif %}{% endmacro %}
{%- if messages[0]['role'] == 'system' -%}{%- set first = messages[0]['content'] -%}{%- set loop_messages = messages[1:] -%}{%- else -%}{%- set loop_messages = messages -%}{%- endif -%}
{%- for message in loop_messages -%}
{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) and false -%}{{ raise_exception("Roles") }}{%- endif -%}
{%- generation -%}{%- if message['content'] is string -%}{{ message['content'] | tojson }}{%- elif message['content'] is iterable -%}{%- for item in message['content'] -%}{{ part(item, loop.index) }}{%- endfor -%}{%- endif -%}{%- endgeneration -%}
{%- endfor -%}{{ message | default('none') }}{{ [1, 2, 'x'] | join(', ') }}{{ '%s-%s' % ('a', 3) }}{{ "{:>4}".format("ab") }}{{ eos_token * 2 }}{{ documents }}{{ tools }}{{ {'a': 1, 'b': [none, true]} | tojson(indent=2) }}
""",
    "filters": """{%- set users = messages | selectattr('role', 'equalto', 'user') | list -%}{{ users | length }}{{ messages | map(attribute='role') | join('|') }}{{ messages | rejectattr('role', 'in', ['user', 'system']) | map(attribute='role') | unique | sort | first }}
{%- for key, value in messages[0] | items %}{{ key }}={{ value }};{% endfor %}{% for k, v in {'b': 1, 'a': 2} | dictsort %}{{ k }}{{ v }}{% endfor %}{% for i in range(5) if i is odd %}{{ i }}{% if i == 3 %}{% break %}{% endif %}{% else %}x{% endfor %}
{%- set text %}  block {{ messages | length }} {% endset %}{{ text | trim | capitalize }}{{ dict(a=1) | string }}{{ ['b', 'a'] | sort | reverse | list }}{{ '7' | int + 1 }}{{ 2 ** 10 }}{{ 7 // 2 }}{{ -3 | abs }}{{ 2.567 | round(1) }}{{ 'ab' | center(8) }}{{ 'a\nb' | indent(2) }}{{ messages[-1]['role'] ~ 1 ~ none }}
{%- filter upper %}{{ messages[0].role }}{% endfilter %}{% for message in messages recursive %}{% if loop.depth < 2 and message.content is not string %}{{ loop(message.content) }}{% else %}{{ message.text or '-' }}{% endif %}{% endfor %}{{ undefined_name }}{{ namespace(a=1).a }}{{ [1] + [2, 3] }}{{ 'x' in 'xyz' }}{{ [[1, 2], [3]] | sum(start=[]) }}{{ cycler('a', 'b').next() }}
""",
}


def templates():
    """Names and texts of every template of this project and its tests, and of ones as they are published."""
    found = {f.name: f.read_text("utf-8") for f in sorted((PACKAGE / "models" / "chat").rglob("*.jinja"))}
    kinds = [
        k for k in vars(families).values() if isinstance(k, type) and isinstance(getattr(k, "template", None), str)
    ]
    return found | {k.__name__: k.template for k in kinds} | PUBLISHED


def by_transformers(source, turns, prompt):
    """Return what transformers renders, or that it raises an error."""
    try:
        return render_jinja_template([turns], chat_template=source, add_generation_prompt=prompt, **SPECIAL)[0][0]
    except (jinja2.TemplateError, TypeError):
        return "an error"


def by_us(source, turns, prompt):
    try:
        return rendered(source, turns, {**SPECIAL, "tools": None, "documents": None, "add_generation_prompt": prompt})
    except jinja2.TemplateError:
        return "an error"


@pytest.mark.parametrize("name", templates())
def test_every_template_is_rendered_as_by_transformers(name):
    source, texts = templates()[name], set()
    for turns in CONVERSATIONS.values():
        for prompt in (False, True):
            texts.add(by_us(source, turns, prompt))
            assert by_us(source, turns, prompt) == by_transformers(source, turns, prompt)
    assert len(texts - {"an error"}) > 1


DOUBLED = "".join(f"{{% set a{i + 1} = [a{i}, a{i}] %}}" for i in range(40))
HOSTILE = {
    "times": "{{ 'A' * 10**10 }}",
    "a list times": "{{ ([0] * 10**10) | length }}",
    "a power": "{{ 10 ** (10 ** 10) }}",
    "nested loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "a growing text": "{% set ns = namespace(x='ab') %}{% for i in range(99999) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "macros that call macros": "{% macro m0() %}x{% endmacro %}" + "".join(f"{{% macro m{i + 1}() %}}{{{{ m{i}() }}}}{{{{ m{i}() }}}}{{% endmacro %}}" for i in range(40)) + "{{ m40() }}",
    "a macro that calls itself twice": "{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "center": "{{ 'a' | center(10**10) }}{{ 'a' | center(10000000000) }}",
    "replace, a filter": "{% set a = 'a' * 100000 %}{{ a | replace('a', a) }}",
    "format": "{{ '%10000000000d' % 1 }}",
    "json": "{{ [[1]] | tojson(indent=10**10) }}",
    "sum": "{{ ([range(99999) | list] * 99999) | sum(start=[]) | length }}",
    "lorem ipsum": "{{ lipsum(n=10**9) }}",
    "nested lists as text": "{% set a0 = [1] %}" + DOUBLED + "{{ a40 }}",
    "a long template": "x" * 2_000_000,
    "a product": "{{ ('a' * 100000).split('a') | map('center', 100000) | join }}",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_template_that_does_too_much_is_refused_by_its_trial(name, monkeypatch):
    monkeypatch.setattr(template_trial, "SECONDS", 0.3)
    monkeypatch.setattr(template_trial, "_render", _before(template_trial._render))
    begun = time.process_time()
    with pytest.raises(jinja2.TemplateError, match=r"more work than|expected at most"):
        rendered(HOSTILE[name], PLAIN, {"add_generation_prompt": True})
    assert time.process_time() - begun < 3  # nothing of it ran here: a second on a machine that does nothing else


def _before(render):
    """The rendering, which fails in the process of the test."""
    own = os.getpid()

    def only_in_the_trial(*arguments):
        assert os.getpid() != own
        return render(*arguments)

    return only_in_the_trial


@pytest.mark.parametrize(
    "source",
    [
        "{% include 'x' %}",
        "{{ messages.__class__.__mro__[1].__subclasses__() + 1 }}",
        "{{ 1 / 0 }}",
        "{% if %}",
        "{{ " + "(" * 20000 + "1" + ")" * 20000 + " }}",
        "{{ raise_exception('no') }}",
    ],
)
def test_an_error_of_a_template_is_one_kind(source):
    with pytest.raises(jinja2.TemplateError):
        rendered(source, PLAIN, {"add_generation_prompt": True})


def test_a_template_is_tried_once(monkeypatch):
    calls = []
    monkeypatch.setattr(template_trial.os, "fork", lambda fork=os.fork: calls.append(1) or fork())
    for turns in (PLAIN, TURNS):
        rendered("{{ messages | length }} once", turns, SPECIAL)
    assert len(calls) == 1


def test_the_trial_stays_below_the_memory_limit_of_the_machine(monkeypatch):
    limits = []
    monkeypatch.setattr(template_trial.signal, "signal", lambda *_: None)
    monkeypatch.setattr(template_trial.signal, "setitimer", lambda *_: None)
    monkeypatch.setattr(template_trial.resource, "setrlimit", lambda _, both: limits.append(both))
    for hard in (template_trial.resource.RLIM_INFINITY, 1 << 20):
        monkeypatch.setattr(template_trial.resource, "getrlimit", lambda _, hard=hard: (hard, hard))
        template_trial._limit()
    assert limits[0][0] > template_trial.MEMORY and limits[1] == (1 << 20, 1 << 20)
