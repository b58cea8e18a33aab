"""Schemathesis over the whole OpenAPI document: no 5xx, and answers are what the document says."""

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS, load_all_checks

from likewise.search.texts.text_index import TextIndex
from tests.serve.running_server import running_server

MEANT = (
    *("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"),
    *("response_headers_conformance", "negative_data_rejection", "unsupported_method"),
)
"""All but those about what a schema cannot say: which prompts a model has, what a filter is."""


def test_every_operation_is_as_the_document_says(tmp_path):
    with TextIndex.open(tmp_path / "notes", "likewise-static") as index:
        index.add(["a cat sleeps", "shares fell", "dogs bark"], show_progress_bar=False)
    load_all_checks()
    checks = CHECKS.get_by_names([*MEANT])
    with running_server("likewise-static", "--collections", str(tmp_path), "--log", "off") as server:
        schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json", config=configured())
        asked = [_check(operation.ok(), server.url, checks) for operation in schema.get_all_operations()]
    assert len(asked) > 20


def configured():
    """Bad data that are too large besides may be rejected by 413, which is no rejection by default."""
    from schemathesis.config import SchemathesisConfig
    from schemathesis.config._checks import NEGATIVE_DATA_REJECTION_EXPECTED_STATUSES

    statuses = [*NEGATIVE_DATA_REJECTION_EXPECTED_STATUSES, "413"]
    return SchemathesisConfig.from_dict({"checks": {"negative_data_rejection": {"expected-statuses": statuses}}})


def _check(operation, url, checks):
    @settings(max_examples=25, deadline=None, database=None, derandomize=True, suppress_health_check=[*HealthCheck])
    def run(case):
        case.call_and_validate(base_url=url, checks=checks)

    schemathesis_strategy(operation)(run)()
    return operation.label


def schemathesis_strategy(operation):
    """Hypothesis' `given` over the requests of an operation, good and bad."""
    from hypothesis import given
    from hypothesis import strategies as st
    from schemathesis import GenerationMode

    modes = [operation.as_strategy(generation_mode=mode) for mode in GenerationMode]
    return given(case=st.one_of(*modes))
