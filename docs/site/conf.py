# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the documentation's site; ``make docs`` builds it."""

from __future__ import annotations

import typing as t

from docutils import nodes

project = "llmops.sglang"
copyright = "2026 The llmops.sglang contributors"
html_title = html_short_title = "llmops.sglang"
extensions = ["sphinx_antsibull_ext"]
pygments_style = "ansible"
highlight_language = "YAML+Jinja"
html_theme = "sphinx_ansible_theme"
REPOSITORY = "https://github.com/llmops/ansible-collection-sglang"
# Nothing of others beside the pages.
html_theme_options = {
    "documentation_home_url": "index.html",
    "navigation_depth": 3,
    "show_extranav": False,
    "topbar_links": {"Repository": REPOSITORY, "Issues": f"{REPOSITORY}/issues"},
}
html_show_sphinx = False
html_copy_source = False
html_use_index = False

# What antsibull-docs refers to and only Ansible's own documentation has.
ANSIBLE = "https://docs.ansible.com/ansible/latest/"
ANSIBLE_PAGES = {
    "action_plugins": "plugins/action.html",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "common_return_values": "reference_appendices/common_return_values.html",
}


def refer_to_ansible(app: t.Any, env: t.Any, node: t.Any, contents: t.Any) -> nodes.reference | None:
    """A link to the page with that label; the site is built without a network, so no inventory is fetched for it."""
    page = ANSIBLE_PAGES.get(node["reftarget"])
    return page and nodes.reference("", "", contents, refuri=ANSIBLE + page, internal=False)


def setup(app: t.Any) -> None:
    app.connect("missing-reference", refer_to_ansible)
