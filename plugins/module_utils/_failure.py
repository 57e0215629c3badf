# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The one vocabulary of failures that all modules share."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

FAILURE_CLASSES = frozenset(
    (
        "ambiguous_listener",
        "ambiguous_match",
        "bad_arguments",
        "bad_request",
        "condition_not_met",
        "connection_refused",
        "count_mismatch",
        "crash_loop",
        "drain_timeout",
        "empty_output",
        "field_mismatch",
        "field_missing",
        "forbidden_match",
        "foreign_listener",
        "garbage_output",
        "gave_up",
        "generation_timeout",
        "inactive",
        "log_level_hidden",
        "log_truncated",
        "message_withheld",
        "missing_dependency",
        "model_load_failed",
        "never_started",
        "no_entries",
        "no_permission",
        "no_speculation",
        "no_such_invocation",
        "no_such_unit",
        "not_restarted",
        "out_of_memory",
        "output_elsewhere",
        "pattern_not_found",
        "pattern_too_slow",
        "port_in_use",
        "rate_limited",
        "reasoning_consumed_budget",
        "route_not_found",
        "router_failed",
        "rule_violated",
        "sandbox_unavailable",
        "server_crashed",
        "server_error",
        "stop_failed",
        "tls_mismatch",
        "unauthorized",
        "unit_invalid",
        "unknown_flag",
        "unstable",
        "write_failed",
        "wrong_model",
    )
)


class Failure(Exception):
    """An expected failure: a class of the vocabulary, one sentence, and further result keys.

    :arg failure_class: a word of :data:`FAILURE_CLASSES`; another one is a programming error (``ValueError``).
    :arg msg: subject, quoted object, cause and remedy in one sentence, free of secrets.
    :arg result: further keys of the module's result.
    """

    def __init__(self, failure_class: str, msg: str, **result: t.Any) -> None:
        if failure_class not in FAILURE_CLASSES:
            raise ValueError(f"'{failure_class}' is not a failure class")
        super().__init__(msg)
        self.failure_class = failure_class
        self.msg = msg
        self.result = result


def fail_module(module: AnsibleModule, failure: Failure, **defaults: t.Any) -> t.NoReturn:
    """End *module* with *failure*; *defaults* are result keys that the failure itself does not set."""
    result = {"log_tail": [], "changed": False, **defaults, **failure.result}
    module.fail_json(msg=failure.msg, failure_class=failure.failure_class, **result)
    raise AssertionError("fail_json returned")


def missing_dependency(package: str, interpreter: str, purpose: str) -> Failure:
    """The failure for a Python package that is not there: names it, the interpreter and the remedy."""
    return Failure(
        "missing_dependency",
        f"The Python package '{package}' is needed {purpose} and cannot be imported by '{interpreter}': "
        f"install it for that interpreter, for example with the role llmops.sglang.server.",
    )
