# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""How a module reaches the server."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  base_url:
    description:
      - Scheme, host and port of the server as seen from the host that runs the module, for example
        V(http://127.0.0.1:30000).
      - Without it, host, port and scheme are taken from the command line of the unit; a wildcard address becomes loopback.
      - One with a user, a password or a query is refused, because those would be shown and not sent.
    type: str
  api_key:
    description:
      - Key that is sent as a bearer token.
    type: str
  api_key_file:
    description:
      - File on the host that runs the module whose first line is the key.
    type: path
  validate_certs:
    description:
      - Whether the certificate of a TLS server must be valid.
    type: bool
    default: true
  ca_path:
    description:
      - File with the certificates of the authorities to trust, in PEM format.
    type: path
  client_cert:
    description:
      - Client certificate in PEM format; it may hold the key as well.
    type: path
  client_key:
    description:
      - Key of O(client_cert) in PEM format, where that file does not hold it.
    type: path
  use_proxy:
    description:
      - Whether the proxy settings in the environment of the module apply.
    type: bool
    default: false
"""
