"""An explanation as a single HTML page that works offline; hovering over a word shows its contributions."""

import json
from collections.abc import Sequence
from html import escape

import numpy as np

from ..array_types import Float
from .word_pairs import PairExplanation, Word

ADDS, TAKES = (213, 94, 0), (0, 114, 178)  # red, green and blue values of Okabe and Ito's orange and blue
STRONGEST = 0.85  # opacity of the largest contribution


def explanation_page(explanation: PairExplanation, model: str) -> str:
    """An HTML page with both texts in colour, a table of word pairs and, for several layers, a table of layers."""
    totals = explanation.word_totals
    most = max(float(np.abs(total).max()) for total in totals) or 1.0
    sides = "\n".join(
        f'<p class="text" id="text{n}">{_words(words, total, most)}</p>'
        for n, (words, total) in enumerate(zip(explanation.words, totals, strict=True))
    )
    names = [[word.text for word in words] for words in explanation.words]
    layers = ""
    if explanation.layers:
        table = _table(explanation.by_layer, explanation.layers, explanation.layers)
        layers = f"<h2>Layers of the first text (rows) and of the second (columns), × 100</h2>{table}"
    return PAGE.format(
        style=STYLE,
        model=escape(model),
        cosine=f"{explanation.cosine:.4f}",
        sides=sides,
        table=_table(explanation.contributions, *names),
        layers=layers,
        data=json.dumps(np.round(explanation.contributions, 6).tolist()),
        script=SCRIPT,
    )


def _words(words: Sequence[Word], totals: Float[np.ndarray, " n"], most: float) -> str:
    return " ".join(
        f'<span class="word{" special" * word.special}" data-n="{n}" style="background:{_colour(total / most)}" '
        f'title="{total:+.4f}">{escape(word.text) or "·"}</span>'
        for n, (word, total) in enumerate(zip(words, totals.tolist(), strict=True))
    )


def _table(values: Float[np.ndarray, "n m"], rows: Sequence[str], columns: Sequence[str]) -> str:
    most = float(np.abs(values).max()) or 1.0
    head = "".join(f'<th class="across"><span>{escape(name)}</span></th>' for name in columns)
    lines = []
    for name, row in zip(rows, values.tolist(), strict=True):
        cells = (
            f'<td style="background:{_colour(value / most)}" title="{escape(name)} × {escape(other)}: {value:+.4f}">'
            f"{100 * value:.1f}</td>"
            for other, value in zip(columns, row, strict=True)
        )
        lines.append(f"<tr><th>{escape(name)}</th>{''.join(cells)}</tr>")
    return f'<div class="wide"><table><tr><th></th>{head}</tr>{"".join(lines)}</table></div>'


def _colour(share: float) -> str:
    red, green, blue = ADDS if share > 0 else TAKES
    return f"rgba({red},{green},{blue},{STRONGEST * min(1.0, abs(share)):.3f})"


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin-top: 2rem; }
.text { font-size: 1.25rem; line-height: 2.1; margin: .6rem 0; }
.word { padding: .12rem .3rem; border-radius: .3rem; cursor: default; outline: 1px solid transparent; }
.word.special { font-size: .75rem; color: #777; } .word.chosen { outline: 2px solid #222; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; }
td { text-align: right; padding: .15rem .4rem; min-width: 1.8rem; } th { font-weight: normal; text-align: right;
  padding-right: .5rem; white-space: nowrap; }
th.across { vertical-align: bottom; height: 1px; padding: 0; } th.across span { writing-mode: vertical-rl;
  transform: rotate(180deg); padding-top: .3rem; }
.note { color: #555; font-size: .9rem; }
"""

SCRIPT = """
const sides = [0, 1].map(n => [...document.querySelectorAll('#text' + n + ' .word')]);
const own = sides.map(words => words.map(word => word.style.background));
const most = Math.max(...data.flat().map(Math.abs)) || 1;
const colour = x => 'rgba(' + (x > 0 ? '213,94,0' : '0,114,178') + ',' + 0.85 * Math.min(1, Math.abs(x) / most) + ')';
function restore() {
  sides.forEach((words, s) => words.forEach((word, n) => {
    word.style.background = own[s][n]; word.classList.remove('chosen');
  }));
}
sides.forEach((words, s) => words.forEach((word, n) => {
  word.addEventListener('mouseenter', () => {
    restore(); word.classList.add('chosen');
    sides[1 - s].forEach((other, m) => { other.style.background = colour(s ? data[m][n] : data[n][m]); });
  });
  word.addEventListener('mouseleave', restore);
}));
"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>cosine {cosine}</title>
<style>{style}</style>
</head>
<body>
<h1>Cosine {cosine} <span class="note">by {model}</span></h1>
{sides}
<p class="note">A word's colour shows what it contributes to the cosine with the whole other text: orange adds, blue
subtracts. Hover over a word to see what it contributes with each word of the other text.</p>
<h2>Word pairs, × 100: their sum is the cosine</h2>
{table}
{layers}
<script>const data = {data};{script}</script>
</body>
</html>
"""
