"""Limits of an archive, and files that no client ships or that it warns of.

Written by `npm run generate` from libs/api-types/src. Do not edit.
"""

MAX_ARCHIVE_BYTES = 67108864
MAX_UNPACKED_BYTES = 268435456
MAX_ENTRIES = 20000
UNNEEDED_FOLDERS = frozenset([".git", "__pycache__", ".ipynb_checkpoints"])
WITHHELD_FILES = r"(^|/)((\.ssh|\.aws|\.azure|\.kube|\.docker|\.gnupg|\.config/gcloud|[._]netrc|\.git-credentials)(?=/|$)|\.cache/huggingface/(token|stored_tokens)$)"
LIKELY_SECRETS = r"(^|/)(([^/]*\.)?env|\.env\.[^/]*|\.envrc|\.pypirc|\.npmrc|\.pgpass|\.htpasswd|id_(rsa|dsa|ecdsa|ed25519)|[^/]*\.(pem|key|p12|pfx|jks|kdbx)|([^/]*[-_.])?(credentials?|secrets?|service[-_]?account)([-_.][^/]*)?\.(json|ya?ml|toml|ini)|credentials|([^/]*\.)?kubeconfig|([^/]*[-_.])?token(\.txt)?)$"
HARMLESS_FILES = r"\.(example|sample|template|dist)(\.[a-z]+)?$"
