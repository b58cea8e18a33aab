"""The engine in WebAssembly, in Chromium and in Node: the same vectors as the native library, from the same folders."""

import json
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

from likewise import Embedder
from tests.integration.browser import served
from tests.native.test_folder import TEXTS

ROOT = Path(__file__).parents[2]
WEB, BUNDLED = ROOT / "native/web", ROOT / "src/likewise/bundled"
WHO, WHAT = (
    ("A cat", "The old dog", "Nobody", "Eine Katze", "Кошка"),
    ("sleeps", "n'est pas là", "runs, runs, runs!", "спит"),
)
SENTENCES = [*TEXTS, *(f"{who} {what} {i} times." for who in WHO for what in WHAT for i in range(10))]
MODELS = [(name, precision) for name in ("likewise-static", "likewise-mini") for precision in ("int8", "fp32")]
ENCODE = """
async ({ url, precision, texts, module }) => {
  const { load } = await import(module);
  const model = await load(url, { precision });
  const losses = [];
  const rows = model.encode(texts, { report: (found) => losses.push(found) });
  model.close();
  return { rows: rows.map((row) => Array.from(new Uint32Array(row.slice().buffer))), losses };
}
"""


@pytest.fixture(scope="module", autouse=True)
def library():
    """likewise.wasm; Emscripten must be installed: apt-get install emscripten."""
    subprocess.run(["make", "-C", ROOT / "native", "web"], check=True)


@pytest.fixture(scope="module")
def site():
    """The checkout over HTTP."""
    with served(ROOT) as url:
        yield url


@pytest.fixture
def page(browser, site):
    page = browser.new_page()
    page.goto(f"{site}/native/web/package.json")
    yield page
    page.close()


def in_node(url, precision, texts):
    program = f"const done = await ({ENCODE})(JSON.parse(process.argv[1])); console.log(JSON.stringify(done))"
    given = {"url": url, "precision": precision, "texts": texts, "module": (WEB / "likewise.js").as_uri()}
    words = ["node", "--input-type=module", "-e", program, json.dumps(given)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def check_same(name, precision, found):
    with warnings.catch_warnings(action="ignore"):
        embedder = Embedder.load(BUNDLED / name, engine="native", precision=precision)
        wanted, report = embedder.encode(SENTENCES), embedder.encode_report(SENTENCES)
    vectors = np.asarray(found["rows"], np.uint32).view(np.float32)
    assert np.array_equal(vectors, wanted)
    assert found["losses"][0]["lost"] == report.lost.tolist()
    assert found["losses"][0]["longWords"] == len(report.unread)


@pytest.mark.parametrize(("name", "precision"), MODELS)
def test_chromium_gives_the_native_librarys_bits(name, precision, page, site):
    url = f"{site}/src/likewise/bundled/{name}"
    given = {"url": url, "precision": precision, "texts": SENTENCES, "module": f"{site}/native/web/likewise.js"}
    check_same(name, precision, page.evaluate(ENCODE, given))


@pytest.mark.parametrize(("name", "precision"), MODELS)
def test_node_gives_the_native_librarys_bits(name, precision):
    check_same(name, precision, in_node((BUNDLED / name).as_uri(), precision, SENTENCES))


@pytest.mark.parametrize(
    ("url", "texts", "message"),
    [
        ("none", ["a"], "config.json is missing"),
        ("src/likewise/bundled/likewise-mini", "text", "expected an array of strings"),
        ("src/likewise/bundled/likewise-mini", [1], "expected an array of strings"),
    ],
)
def test_errors_arrive_as_exceptions(url, texts, message, page, site):
    program = f"(given) => ({ENCODE})(given).then(() => 'no error', (error) => `${{error.name}}: ${{error.message}}`)"
    given = {"url": f"{site}/{url}", "precision": "int8", "texts": texts, "module": f"{site}/native/web/likewise.js"}
    found = page.evaluate(program, given)
    assert found.startswith("LikewiseError: ")
    assert message in found


ASKED = """
const [module, wasm, config] = JSON.parse(process.argv[1]);
const { load } = await import(module);
const { readFileSync } = await import("node:fs");
const asked = [];
const read = (name) => asked.push(name) && (name === "config.json" ? new TextEncoder().encode(config) : null);
await load("model", { read, wasm: readFileSync(wasm) }).catch((error) => asked.push(error.name));
console.log(JSON.stringify(asked));
"""


@pytest.mark.parametrize(("kind", "wanted"), [("words", True), ("bert", False)])
def test_unknown_words_are_asked_for_only_of_models_of_words(kind, wanted):
    given = [(WEB / "likewise.js").as_uri(), str(WEB / "likewise.wasm"), json.dumps({"model_type": kind})]
    words = ["node", "--input-type=module", "-e", ASKED, json.dumps(given)]
    asked = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert ("unknown_words.json" in asked) == wanted
    assert asked[-1] == "LikewiseError"


PROMPTED = """
const [module, url, options] = JSON.parse(process.argv[1]);
const { load } = await import(module);
const model = await load(url);
const [plain] = model.encode(["a cat"]);
try {
  console.log(model.encode(["a cat"], options)[0].every((x, i) => x === plain[i]));
} catch (error) {
  console.log(`${error}`);
}
"""


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"prompt": None}, "true"),
        ({"promptName": None}, "true"),
        ({"prompt": "null"}, "false"),
        ({"prompt": "a\0b"}, "LikewiseError: prompt is a string; expected a string without \\0"),
        ({"promptName": 3}, "LikewiseError: promptName is a number; expected a string without \\0"),
    ],
)
def test_a_prompt_is_a_whole_string_or_none(options, answer):
    given = [(WEB / "likewise.js").as_uri(), (BUNDLED / "likewise-static").as_uri(), options]
    words = ["node", "--input-type=module", "-e", PROMPTED, json.dumps(given)]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip() == answer


def test_half_a_surrogate_pair_is_the_replacement_character():
    (found, wanted) = in_node((BUNDLED / "likewise-static").as_uri(), "int8", ["a \ud800 b", "a \ufffd b"])["rows"]
    assert found == wanted


def test_the_kernels_are_checked_against_the_portable_ones():
    done = subprocess.run(["make", "-s", "-C", ROOT / "native", "check-web"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wasm: checked" in done.stdout
    assert done.stdout.endswith("0 failures\n")
