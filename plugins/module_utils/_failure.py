# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The one vocabulary of failures that all modules share."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

FAILURE_CLASSES = frozenset(
    ["no_such_unit", "never_started", "inactive", "not_restarted", "crash_loop", "gave_up", "bad_arguments", "out_of_memory", "port_in_use", "foreign_listener", "ambiguous_listener", "model_load_failed", "server_crashed", "unauthorized", "route_not_found", "wrong_model", "tls_mismatch", "bad_request", "connection_refused", "generation_timeout", "server_error", "empty_output", "reasoning_consumed_budget", "garbage_output", "condition_not_met", "no_speculation", "unstable", "no_entries", "no_permission", "log_truncated", "rate_limited", "message_withheld", "pattern_not_found", "field_mismatch", "field_missing", "ambiguous_match", "forbidden_match", "count_mismatch", "log_level_hidden", "output_elsewhere", "no_such_invocation", "pattern_too_slow", "unit_invalid", "rule_violated", "unknown_flag", "write_failed", "stop_failed", "missing_dependency", "sandbox_unavailable", "router_failed", "drain_timeout"]
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
