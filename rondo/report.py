"""`report.md`: a finding in plain words, generated from what was measured and nothing else."""

from __future__ import annotations

from jinja2 import Environment, StrictUndefined

from harnesses.base import Program
from rondo.findings import Finding

_TEMPLATE = """\
# {{ finding.symptom }}: {{ trigger }}

A compiled call gives another result than eager execution because of what the compiler kept from \
earlier calls. The same call compiled from empty state agrees with eager execution.

| | |
|---|---|
| verdict | {{ finding.verdict }} |
| symptom | {{ finding.symptom }} at `{{ finding.where }}` |
| what differs | {{ finding.detail }} |
{% if finding.note %}| note | {{ finding.note }} |
{% endif -%}
{% if finding.known %}| known | {{ finding.known }} |
{% endif -%}
| reproduced | {{ finding.cold[0] }} of {{ finding.cold[1] }} cold interpreters |
{% for name, version in finding.versions.items() -%}
| {{ name }} | {{ version }} |
{% endfor %}
## Steps

{% for sentence in finding.sentences -%}
{{ loop.index }}. {{ sentence }}{{ " (**this step is wrong**)" if loop.index0 == finding.exposing }}
{% endfor %}
## What the compiler did at the exposing step

{% for arm in finding.arms -%}
- {{ arm.arm }}: {{ arm.behaviour | join(", ") or "nothing recorded" }}
{% endfor %}
## Program

`python repro.py` prints the three arms and exits with 1 while the bug is there. The program that \
it plays:

```python
{{ text }}```
"""


def report(finding: Finding, program: Program) -> str:
    """The report of a finding as Markdown."""
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(_TEMPLATE).render(
        finding=finding, text=program.text, trigger=finding.sentences[finding.exposing]
    )
