# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""How a module reaches a router."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  router_url:
    description:
      - Scheme, host and port of the router, for example V(http://router.example:30000).
    type: str
    required: true
  request_timeout:
    description:
      - Seconds for one answer.
    type: float
    default: 30
  api_key:
    description:
      - Key of the router, sent as a bearer token.
    type: str
  validate_certs:
    description:
      - Whether the certificates of router and workers must be valid.
    type: bool
    default: true
  ca_path:
    description:
      - File with the certificates of the authorities to trust, in PEM format.
    type: path
  use_proxy:
    description:
      - Whether the proxy settings in the environment of the module apply.
    type: bool
    default: false
"""
