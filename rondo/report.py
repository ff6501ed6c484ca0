"""`report.md`: a finding in the form of the framework's own issue template.

Which fields the form has belongs to the harness (`Issue`); what stands in them is written here,
from what was measured and nothing else.
"""

from __future__ import annotations

from jinja2 import Environment, StrictUndefined

from harnesses.base import Issue
from rondo.blame import THERE, needed
from rondo.findings import Finding, Trial

_WORDS = {
    "wrong_result": "wrong result",
    "wrong_gradient": "wrong gradient",
    "wrong_state": "wrong program state",
    "exception": "exception",
    "missing_exception": "missing exception",
    "crash": "crash",
    "hang": "hang",
    "memory": "memory grows without end",
}
_MOST_TITLE = 92

_SUMMARY = """\
{% if finding.verdict == "stateful" -%}
With `{{ compiler }}`, step {{ finding.exposing + 1 }} below does not do what eager execution does \
({{ words }}), because of what the compiler kept from earlier calls: compiled from empty state, \
the same call agrees with eager execution.
{%- else -%}
With `{{ compiler }}`, step {{ finding.exposing + 1 }} below does not do what eager execution does \
({{ words }}) when it is compiled from empty state; with state kept from earlier calls it does.
{%- endif %}

- Expected: the same as eager execution.
- What happened in the fuzzer's run: at `{{ finding.where }}`, {{ finding.detail }}.
{% if finding.reference %}- A float64 reference of the step gives {{ finding.reference }} there.
{% endif -%}
{% if finding.faults %}- **Planted on purpose**: {{ finding.faults | join(", ") }}. Without it \
the framework does nothing wrong here; `rondo run case.bin` plants it again.
{% endif -%}
{% if finding.own_model %}- The program takes the model from `{{ finding.own_model }}`: that code \
belongs to this report.
{% endif -%}
{% if finding.note %}- {{ finding.note }}.
{% endif -%}
{% if finding.known %}- Known: {{ finding.known }}.
{% endif -%}
- Reproduced in {{ finding.cold[0] }} of {{ finding.cold[1] }} cold interpreters.

Steps:

{% for sentence in finding.sentences -%}
{{ loop.index }}. {{ sentence }}{{ " (**this step is wrong**)" if loop.index0 == finding.exposing }}
{% endfor %}"""

_BLAME = """\
What the compiler did at step {{ finding.exposing + 1 }}:

{% for arm in finding.arms -%}
- {{ arm.arm }}: {{ arm.behaviour | join(", ") or "nothing recorded" }}
{% endfor %}
{%- if finding.blame %}
{% if establishing -%}
Without {{ establishing }} the difference is gone; step {{ finding.exposing + 1 }} exposes it.
{%- else -%}
No single step can be shown to establish the state; step {{ finding.exposing + 1 }} exposes it.
{%- endif %}

{{ table("change", finding.blame) }}
{%- endif %}"""

_ABLATION = """\
{% if finding.ablation -%}
{% if layers -%}
It shows with {{ layers }}.

{% endif -%}
{{ table("configuration", finding.ablation) }}
{%- endif %}"""

_COMPARISON = """\
How it was compared: every arm runs in a fresh process, with random numbers seeded alike before \
every step. Floating-point values may differ by the bounds in the program, which are looser than \
the framework's defaults{{ ", and by rounding as a float64 reference shows it" if reference }}."""

_REPRO = """\
`python {{ "-m rondo.cold " + finding.target + " " if finding.faults }}repro.py\
{% for fault in finding.faults %} --fault {{ fault }}{% endfor %}` exits with 1 while the bug is \
there, 0 when it is gone, 2 when it cannot tell:

```python
{{ repro }}```"""

_TABLE = """\
| {{ head }} | difference | what the compiler did at the exposing step |
|---|---|---|
{% for trial in trials -%}
| {{ trial.change }} | {{ trial.outcome }} | {{ trial.behaviour | join(", ") or "-" }} |
{% endfor %}"""

_LOGS = """\
{% if finding.output %}Output of `python repro.py`:

```
{{ finding.output.rstrip() }}
```
{%- else %}`python repro.py` printed nothing that was kept.
{%- endif %}"""

_VERSIONS = """\
{% for name, version in finding.versions.items() -%}
- {{ name }} {{ version }}
{% endfor %}"""

_ENVIRONMENT = """\
{% if finding.environment -%}
```
{{ finding.environment }}
```
{%- else -%}
{% for name, version in finding.versions.items() -%}
- {{ name }} {{ version }}
{% endfor %}{% endif %}"""

_PARTS = {
    "summary": _SUMMARY,
    "blame": _BLAME,
    "ablation": _ABLATION,
    "comparison": _COMPARISON,
    "repro": _REPRO,
    "logs": _LOGS,
    "versions": _VERSIONS,
    "environment": _ENVIRONMENT,
    "cpu": "CPU",
}


def title(symptom: str, sentences: tuple[str, ...], exposing: int) -> str:
    """One line for a finding: what is wrong, at which step, after which."""
    words = [_WORDS.get(symptom, symptom), sentences[exposing].rstrip(".")]
    if exposing and sentences[exposing - 1] == sentences[exposing]:
        words.append("again")
    elif exposing:
        words.append(f"after: {sentences[exposing - 1].rstrip('.')}")
    text = ", ".join(words).replace(", ", ": ", 1)
    return text if len(text) <= _MOST_TITLE else f"{text[: _MOST_TITLE - 4]} ..."


def report(finding: Finding, issue: Issue, repro: str) -> str:
    """The report of a finding as Markdown."""
    environment = Environment(
        undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=False
    )

    def filled(text: str, **more: object) -> str:
        return environment.from_string(text).render(finding=finding, **more).strip("\n")

    def table(head: str, trials: tuple[Trial, ...]) -> str:
        return filled(_TABLE, head=head, trials=trials)

    values = {
        "compiler": issue.compiler,
        "words": _WORDS.get(finding.symptom, finding.symptom),
        "establishing": _said([f"step {k + 1}" for k in needed(finding.blame)], "or"),
        "layers": _layers(finding),
        "reference": finding.reference,
        "repro": repro,
        "table": table,
    }
    lines = [f"# {issue.compiler}: {title(finding.symptom, finding.sentences, finding.exposing)}"]
    for heading, names in issue.fields:
        parts = (filled(_PARTS[name], **values) for name in names)
        lines += [f"## {heading}", *(part for part in parts if part)]
    return "\n\n".join(lines) + "\n"


def _said(words: list[str], link: str) -> str:
    return f" {link} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _layers(finding: Finding) -> str:
    """The configurations in which the difference was there."""
    there = [trial.change for trial in finding.ablation[1:] if trial.outcome == THERE]
    return _said(["the shrunk configuration", *there], "and")
