# ruff: noqa: E501 - a template is one line
"""Chat templates of others: the same texts as by transformers, and an end to those that would not end."""

import resource
import time

import jinja2
import pytest
from PIL import Image
from transformers.utils.chat_template_utils import render_jinja_template

from lmod_train.core.extension import PACKAGE
from lmod_train.models.chat.counted_template import ENVIRONMENT, MOST_WORK, rendered
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
    by_us(source, CONVERSATIONS["parts"], True)
    assert MOST_WORK - ENVIRONMENT.left.work < MOST_WORK / 100


DOUBLED = "".join(f"{{% set a{i + 1} = [a{i}, a{i}] %}}" for i in range(40))
HOSTILE = {
    "times": "{{ 'A' * 10**10 }}",
    "times from the left": "{{ 10**10 * 'A' }}",
    "a list times": "{{ ([0] * 10**10) | length }}",
    "lists of lists": "{% set a = range(1000) | list %}{{ ([a] * 10000) | string | length }}",
    "a power": "{{ 10 ** (10 ** 10) }}",
    "a power of a power": "{% set ns = namespace(x=3) %}{% for i in range(1000) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
    "a range": "{% for i in range(10**9) %}{% endfor %}",
    "nested loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "nested loops that print": "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
    "loops that pass over all": "{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
    "a loop over its own list": "{% set ns = namespace(x=[1]) %}{% for i in range(99999) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "a growing text": "{% set ns = namespace(x='ab') %}{% for i in range(99999) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "a growing sum": "{% set ns = namespace(x='ab') %}{% for i in range(99999) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "growing blocks": "{% set a0 %}xy{% endset %}" + "".join(f"{{% set a{i + 1} %}}{{{{ a{i} }}}}{{{{ a{i} }}}}{{% endset %}}" for i in range(40)),
    "macros that call macros": "{% macro m0() %}x{% endmacro %}" + "".join(f"{{% macro m{i + 1}() %}}{{{{ m{i}() }}}}{{{{ m{i}() }}}}{{% endmacro %}}" for i in range(40)) + "{{ m40() }}",
    "a macro that calls itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "a macro that calls itself twice": "{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "a loop in itself": "{% for a in [[1, 2]] recursive %}{{ loop([[1, 2], [1, 2]]) }}{% endfor %}",
    "center": "{{ 'a' | center(10**10) }}{{ 'a' | center(10000000000) }}",
    "methods": "{{ 'a'.center(10**10) }}",
    "ljust": "{{ 'a'.ljust(10**10) }}",
    "zfill": "{{ 'a'.zfill(10**10) }}",
    "expandtabs": "{{ '\t\t'.expandtabs(10**9) }}",
    "replace": "{% set a = 'a' * 100000 %}{{ a.replace('a', a) }}",
    "replace, a filter": "{% set a = 'a' * 100000 %}{{ a | replace('a', a) }}",
    "join": "{% set a = 'a' * 100000 %}{{ a.join(a) }}",
    "join, a filter": "{% set a = 'a' * 100000 %}{{ range(99999) | join(a) }}",
    "join of a map": "{% set a = 'a' * 100000 %}{{ ''.join([a] * 10000) }}",
    "format": "{{ '%10000000000d' % 1 }}",
    "format, a filter": "{{ '%10000000000d' | format(1) }}",
    "format, a star": "{{ '%*d' % (10**9, 1) }}",
    "format, many": "{% set a = 'a' * 100000 %}{{ ('%(a)s' * 100000) % {'a': a} }}",
    "format, a method": "{{ '{:10000000000}'.format(1) }}",
    "format, a nested width": "{{ '{:{}}'.format(1, 10**9) }}",
    "format, many fields": "{% set a = 'a' * 100000 %}{{ ('{0}' * 100000).format(a) }}",
    "translate": "{% set a = 'a' * 100000 %}{{ a.translate({97: a}) }}",
    "bytes": "{{ (1).to_bytes(10**10, 'big') }}",
    "encoded": "{{ 'a'.encode().ljust(10**10) }}",
    "indent": "{{ 'a\nb' | indent(10**10) }}",
    "indent with a text": "{% set a = 'a' * 100000 %}{{ ('b\n' * 100000) | indent(a) }}",
    "json": "{{ [[1]] | tojson(indent=10**10) }}",
    "round": "{{ 1 | round(10**9, 'ceil') }}",
    "batch": "{{ [1] | batch(10**9, 'x') | list | length }}",
    "slice": "{{ [1] | slice(10**9) | list | length }}",
    "sum": "{{ ([range(99999) | list] * 99999) | sum(start=[]) | length }}",
    "lorem ipsum": "{{ lipsum(n=10**9) }}",
    "wrapped": "{{ ('a ' * 100000) | wordwrap(1) | urlize }}",
    "nested lists as text": "{% set a0 = [1] %}" + DOUBLED + "{{ a40 }}",
    "nested lists as JSON": "{% set a0 = [1] %}" + DOUBLED + "{{ a40 | tojson }}",
    "nested lists compared": "{% set a0 = [1] %}" + DOUBLED + DOUBLED.replace("a", "b").replace("bet", "set") + "{{ a40 == b40 }}",
    "slices": "{% set a = range(99999) | list %}{% for i in range(99999) %}{% set b = a[:] %}{% endfor %}",
    "searches": "{% set a = 'a' * 1000000 %}{% for i in range(99999) %}{% if 'b' in a %}{% endif %}{% endfor %}",
    "maps": "{% for i in range(99999) %}{{ range(99999) | map('upper') | list | length }}{% endfor %}",
    "chains of filters": "{% set a = range(99999) %}{{ a" + " | select | map('string')" * 500 + " | list | length }}",
    "long bodies": "{% for i in range(99999) %}" + "{{ messages.a.b }}" * 1000 + "{% endfor %}",
    "parentheses": "{{ " + "(" * 20000 + "1" + ")" * 20000 + " }}",
    "blocks in blocks": "{% for i in [1] %}" * 100 + "{% endfor %}" * 100,
    "a date": "{{ strftime_now('%1000000000Y') }}",
    "a long template": "x" * 2_000_000,
    "a namespace of itself": "{% set ns = namespace() %}{% set ns.a = [ns, ns] %}{% for i in range(99999) %}{{ ns.a }}{% endfor %}",
    "a dict": "{{ dict.fromkeys(range(99999), 'a' * 100000) | string }}",
    "a product": "{{ ('a' * 100000).split('a') | map('center', 100000) | join }}",
    "imports": "{% include 'x' %}",
    "attributes": "{{ messages.__class__.__mro__[1].__subclasses__() | length > 100 and raise_exception('escaped') }}{{ 1 / 0 }}",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_template_that_does_too_much_ends_at_once(name):
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
    with pytest.raises(jinja2.TemplateError) as raised:
        rendered(HOSTILE[name], PLAIN, {"add_generation_prompt": True})
    assert time.thread_time() - begun < 3  # a second on a machine that does nothing else
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
    assert "escaped" not in str(raised.value)
