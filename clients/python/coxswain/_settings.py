"""Server, token and project: from arguments, else from variables, else from the files of the command line."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import httpx
import yaml

from ._errors import SettingsError

_KEYS = ("server", "token", "tokenFile", "project")


@dataclass(frozen=True)
class Settings:
    """project: None if it is not given; a token of one project needs none."""

    server: str
    token: str | None
    project: str | None


def resolve(
    server: str | None = None,
    token: str | None = None,
    project: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    now: datetime | None = None,
) -> Settings:
    """The settings by the rules of the command line, so that `coxswain login` signs in here too. Raises SettingsError."""
    given = {key: value for key, value in (os.environ if environment is None else environment).items() if value}
    path, must_exist = _config_path(given)
    config = _read_config(path, must_exist)
    address = server or given.get("COXSWAIN_SERVER") or config.get("server")
    if address is None:
        raise SettingsError(f'No server given. Pass server=, or set COXSWAIN_SERVER, or "server:" in {path}.')
    if not _is_url(address):
        raise SettingsError(f'Server "{address}" is not a URL; it must look like https://coxswain.example.com.')
    address = address.rstrip("/")
    found = (token or _given_token(given, config) or "").strip() or None
    if found is None:
        found = _signed_in_token(path.parent / "credentials.json", address, now or datetime.now(timezone.utc))
    if found is None:
        raise SettingsError(
            f'No token given. Sign in with `coxswain login`, or pass token=, or set COXSWAIN_TOKEN or COXSWAIN_TOKEN_FILE, or "token:" in {path}.'
        )
    if not found.isascii() or not found.isprintable() or " " in found:
        raise SettingsError("The token contains a space, a line end or another character that tokens do not have.")
    return Settings(address, found, project or given.get("COXSWAIN_PROJECT") or config.get("project"))


def _config_path(given: Mapping[str, str]) -> tuple[Path, bool]:
    if "COXSWAIN_CONFIG" in given:
        return Path(given["COXSWAIN_CONFIG"]), True
    home = given.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "coxswain" / "config.yaml", False


def _read_config(path: Path, must_exist: bool) -> dict[str, str]:
    try:
        config = yaml.safe_load(path.read_text("utf-8")) or {}
    except FileNotFoundError:
        if must_exist:
            raise SettingsError(f"The configuration file {path} does not exist.") from None
        return {}
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"Cannot read the configuration file {path}: {error}") from None
    if not isinstance(config, dict):
        raise SettingsError(f"The configuration file {path} must hold {', '.join(_KEYS)}.")
    wrong = [str(key) for key, value in config.items() if key not in _KEYS or not isinstance(value, str)]
    if wrong:
        raise SettingsError(
            f"The configuration file {path} holds {', '.join(wrong)}; it may hold the texts {', '.join(_KEYS)}."
        )
    return config


def _given_token(given: Mapping[str, str], config: Mapping[str, str]) -> str | None:
    if "COXSWAIN_TOKEN" in given:
        return given["COXSWAIN_TOKEN"]
    if "COXSWAIN_TOKEN_FILE" in given:
        return _read_token(Path(given["COXSWAIN_TOKEN_FILE"]))
    if "tokenFile" in config:
        return _read_token(Path(config["tokenFile"]))
    return config.get("token")


def _read_token(path: Path) -> str:
    try:
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"Cannot read the token file {path}: {error}") from None
    if not token:
        raise SettingsError(f"The token file {path} is empty.")
    return token


def _signed_in_token(path: Path, server: str, now: datetime) -> str | None:
    try:
        credential = _credential_of(json.loads(path.read_text("utf-8"))["servers"], server)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise SettingsError(f"{path} was not written by `coxswain login`. Remove it and sign in again.") from None
    if credential is None:
        return None
    token, expires_at, expires = credential
    if expires <= now:
        raise SettingsError(f"You were signed in at {server} until {expires_at[:16]}Z. Run `coxswain login`.")
    return token


def _credential_of(servers: Mapping[str, Mapping[str, str]], server: str) -> tuple[str, str, datetime] | None:
    if server not in servers:
        return None
    expires_at = servers[server]["expiresAt"]
    expires = datetime.fromisoformat(expires_at.replace("Z", "+00:00"))
    if expires.tzinfo is None:
        raise ValueError(expires_at)
    return servers[server]["token"], expires_at, expires


def _is_url(address: str) -> bool:
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        return False
    return url.scheme in ("http", "https") and url.host != ""
