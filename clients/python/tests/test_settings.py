"""Which API, as whom: the same rules as the command line."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

from coxswain import SettingsError
from coxswain._settings import resolve

NOW = datetime(2026, 11, 29, tzinfo=timezone.utc)
SERVER = "https://coxswain.example.com"


def folder(path: Path, config: str | None = None, signed_in_until: str | None = None) -> dict[str, str]:
    """Variables of a user with these files."""
    home = path / "coxswain"
    home.mkdir()
    (path / "token").write_text("from-file\n")
    if config is not None:
        (home / "config.yaml").write_text(config.replace("FOLDER", str(path)))
    if signed_in_until is not None:
        credential = {"name": "ada", "token": "signed-in", "expiresAt": signed_in_until}
        (home / "credentials.json").write_text(json.dumps({"servers": {SERVER: credential}}))
    return {"XDG_CONFIG_HOME": str(path)}


@pytest.mark.parametrize(
    ("config", "variables", "want"),
    [
        (f"server: {SERVER}/\ntoken: t\nproject: p", {}, (SERVER, "t", "p")),
        (f"server: {SERVER}\ntokenFile: FOLDER/token", {}, (SERVER, "from-file", None)),
        (f"server: {SERVER}\ntoken: t", {"COXSWAIN_TOKEN": "v", "COXSWAIN_PROJECT": "q"}, (SERVER, "v", "q")),
        (f"server: {SERVER}\ntoken: t", {"COXSWAIN_TOKEN": ""}, (SERVER, "t", None)),
        (f"server: {SERVER}", {}, (SERVER, "signed-in", None)),
    ],
    ids=[
        "the configuration file has all",
        "a file of the configuration has the token",
        "variables go before the file",
        "an empty variable counts as not set",
        "else the user who signed in with the command line",
    ],
)
def test_settings(tmp_path: Path, config: str, variables: dict[str, str], want: tuple[str, str, str | None]) -> None:
    environment = {**folder(tmp_path, config, "2026-12-01T00:00:00.000Z"), **variables}
    settings = resolve(environment=environment, now=NOW)
    assert (settings.server, settings.token, settings.project) == want


def test_a_line_end_after_a_token_is_no_part_of_it(tmp_path: Path) -> None:
    assert resolve(SERVER, "t\n", environment=folder(tmp_path)).token == "t"


def test_arguments_go_before_everything(tmp_path: Path) -> None:
    environment = {**folder(tmp_path, "server: https://other.example.com"), "COXSWAIN_TOKEN": "v"}
    assert resolve(SERVER, "t", "p", environment=environment).token == "t"


@pytest.mark.parametrize(
    ("config", "until", "message"),
    [
        (None, None, "No server given. Pass server=, or set COXSWAIN_SERVER"),
        ("server: coxswain.example.com", None, "is not a URL"),
        ("server: https://host:port", None, "is not a URL"),
        (f"server: {SERVER}\ntoken: 'a\u2019b'", None, "The token contains a space"),
        (f"server: {SERVER}", "2026-12-01", "was not written by `coxswain login`"),
        (f"server: {SERVER}", None, "No token given. Sign in with `coxswain login`"),
        (f"server: {SERVER}", "2026-11-28T00:00:00.000Z", "until 2026-11-28T00:00Z. Run `coxswain login`"),
        ("servr: x", None, "holds servr; it may hold the texts server, token, tokenFile, project"),
        ("[", None, "Cannot read the configuration file"),
        (f"server: {SERVER}\ntokenFile: FOLDER/none", None, "Cannot read the token file"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, config: str | None, until: str | None, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        resolve(environment=folder(tmp_path, config, until), now=NOW)
    assert message in str(caught.value)
