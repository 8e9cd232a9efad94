"""A working directory as one archive, named by its digest."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import posixpath
import re
import subprocess
import tarfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import operations
from ._errors import ApiError, WorkdirError
from ._shipped_files import (
    HARMLESS_FILES,
    LIKELY_SECRETS,
    MAX_ARCHIVE_BYTES,
    MAX_ENTRIES,
    MAX_UNPACKED_BYTES,
    UNNEEDED_FOLDERS,
    WITHHELD_FILES,
)

if TYPE_CHECKING:
    from ._flows import Flow

_WITHHELD = re.compile(WITHHELD_FILES)
_LIKELY_SECRET = re.compile(LIKELY_SECRETS)
_HARMLESS = re.compile(HARMLESS_FILES)
#: Calls between the warning and the program: _warn_of_secrets, pack, submission, Client.submit.
_STACK_LEVEL = 5
_LEAVE_OUT = "Add data, checkpoints and environments to .gitignore; a job reads data from a claim or a bucket."


@dataclass(frozen=True)
class Archive:
    """A tar compressed with gzip; the same files give the same bytes."""

    content: bytes
    files: int

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def pack(directory: str | os.PathLike[str] | None, extra: Mapping[str, bytes] | None = None) -> Archive:
    """The files of the directory, and `extra` files by their paths. Warns of secrets. Raises WorkdirError."""
    root = None if directory is None else Path(directory)
    paths, withheld = ([], []) if root is None else _paths(root)
    _warn_of_secrets(paths, withheld)
    added = dict(extra or {})
    taken = sorted(set(paths) & set(added))
    if taken:
        raise WorkdirError(f"{directory} has a file {taken[0]} already, which the client writes; rename it.")
    sizes = {path: _size(root, path) for path in paths if root is not None} | {p: len(c) for p, c in added.items()}
    if not sizes:
        raise WorkdirError(f"The working directory {directory} has no files to ship.")
    if len(sizes) > MAX_ENTRIES:
        raise WorkdirError(f"{directory} has {len(sizes)} files, and a job takes at most {MAX_ENTRIES}. {_LEAVE_OUT}")
    # Before they are read.
    if sum(sizes.values()) > MAX_UNPACKED_BYTES:
        raise _too_large(directory, f"{_mib(sum(sizes.values()))} of files", MAX_UNPACKED_BYTES, sizes)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(sizes, key=lambda each: each.encode("utf-8", "surrogateescape")):
            _add(tar, root, path, added.get(path))
    # A pod counts the headers and padding of the archive too.
    if buffer.tell() > MAX_UNPACKED_BYTES:
        raise _too_large(directory, f"{_mib(buffer.tell())} of files", MAX_UNPACKED_BYTES, sizes)
    content = gzip.compress(buffer.getvalue(), mtime=0)
    if len(content) > MAX_ARCHIVE_BYTES:
        raise _too_large(directory, f"{_mib(len(content))} as an archive", MAX_ARCHIVE_BYTES, sizes)
    return Archive(content, len(sizes))


def upload(project: str, archive: Archive, namespace: str | None) -> Flow[bool]:
    """Uploads the archive, unless the project has it; whether it was uploaded."""
    try:
        yield operations.code_get(project, archive.sha256, namespace=namespace)
        return False
    except ApiError as error:
        if error.status != 404:
            raise
    yield operations.code_upload(project, archive.sha256, archive.content, namespace=namespace)
    return True


def _warn_of_secrets(paths: list[str], withheld: list[str]) -> None:
    if withheld:
        warnings.warn(
            f"Left out: {', '.join(withheld)}. Credentials of a person are never shipped; "
            "a job gets its own by secretEnv or secretFiles.",
            stacklevel=_STACK_LEVEL,
        )
    secrets = [path for path in paths if _LIKELY_SECRET.search(path.lower()) and not _HARMLESS.search(path.lower())]
    if secrets:
        warnings.warn(
            f"{', '.join(secrets)} {'looks' if len(secrets) == 1 else 'look'} like a secret, and everyone who can read pods "
            "of the project can read it. Add it to .gitignore, and use secretEnv or secretFiles.",
            stacklevel=_STACK_LEVEL,
        )


def _withheld_part(path: str) -> str | None:
    """The path up to the name that holds credentials."""
    match = _WITHHELD.search(path.lower())
    return None if match is None else path[: match.end()]


def _paths(root: Path) -> tuple[list[str], list[str]]:
    """What is shipped, and which credentials are not."""
    if not root.is_dir():
        raise WorkdirError(f"The working directory {root} is no directory.")
    found = sorted(path for path in _below(root, "") if not UNNEEDED_FOLDERS.intersection(path.split("/")))
    paths = [path for path in found if _withheld_part(path) is None]
    outside = [(path, os.readlink(root / path)) for path in paths if (root / path).is_symlink()]
    outside = [(path, target) for path, target in outside if _leads_outside(path, target)]
    if outside:
        named = "\n".join(f"  {path} -> {target}" for path, target in outside)
        raise WorkdirError(
            f"These links of {root} lead outside of it, where a pod has other files:\n{named}\n"
            "Remove them, add them to .gitignore, or ship the directory above."
        )
    return paths, sorted({part for path in found if (part := _withheld_part(path)) is not None})


def _below(root: Path, prefix: str) -> Iterator[str]:
    listed = _listed_by_git(root / prefix)
    if listed is None:
        yield from _walk(root, prefix)
        return
    for name in listed:
        path = f"{prefix}/{name}" if prefix else name
        place = root / path
        if place.is_dir() and not place.is_symlink():
            # Another repository is listed as one entry. In a submodule that was not checked out, git would list the
            # repository around it.
            yield from _below(root, path) if (place / ".git").exists() else _walk(root, path)
        elif place.is_symlink() or place.is_file():
            yield path


def _listed_by_git(directory: Path) -> list[str] | None:
    """None: it is in no repository, or there is no git."""
    command = ["git", "-C", os.fspath(directory), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        return None
    if done.returncode != 0:
        return None
    return sorted({os.fsdecode(name).rstrip("/") for name in done.stdout.split(b"\0")} - {"", "."})


def _walk(root: Path, prefix: str) -> Iterator[str]:
    # Here, so that the package is loaded without it.
    from pathspec import GitIgnoreSpec

    specs: dict[str, Any] = {}
    for folder, folders, files in os.walk(root / prefix):
        below = os.path.relpath(folder, root).replace(os.sep, "/")
        below = "" if below == "." else f"{below}/"
        if ".gitignore" in files:
            specs[below] = GitIgnoreSpec.from_lines((Path(folder) / ".gitignore").read_text("utf-8").splitlines())
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        folders[:] = [
            name
            for name in folders
            if name not in UNNEEDED_FOLDERS and name not in links and not _is_ignored(f"{below}{name}/", specs)
        ]
        for name in [*files, *links]:
            place = Path(folder) / name
            if (place.is_symlink() or place.is_file()) and not _is_ignored(f"{below}{name}", specs):
                yield f"{below}{name}"


def _is_ignored(path: str, specs: Mapping[str, Any]) -> bool:
    """The nearest file that says something decides, as in git."""
    for below in sorted((each for each in specs if path.startswith(each)), key=len, reverse=True):
        include = specs[below].check_file(path[len(below) :]).include
        if include is not None:
            return bool(include)
    return False


def _leads_outside(path: str, target: str) -> bool:
    end = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return posixpath.isabs(target) or end == ".." or end.startswith("../")


def _size(root: Path | None, path: str) -> int:
    return 0 if root is None or (root / path).is_symlink() else (root / path).stat().st_size


def _add(tar: tarfile.TarFile, root: Path | None, path: str, content: bytes | None) -> None:
    info = tarfile.TarInfo(path)
    place = None if root is None else root / path
    if content is None and place is not None and place.is_symlink():
        info.type = tarfile.SYMTYPE
        info.linkname = os.readlink(place)
        tar.addfile(info)
        return
    data = content if content is not None or place is None else place.read_bytes()
    is_executable = content is None and place is not None and bool(place.stat().st_mode & 0o100)
    info.mode = 0o755 if is_executable else 0o644
    info.size = len(data or b"")
    tar.addfile(info, io.BytesIO(data or b""))


def _too_large(
    directory: str | os.PathLike[str] | None, what: str, most: int, sizes: Mapping[str, int]
) -> WorkdirError:
    largest = sorted(sizes, key=lambda path: -sizes[path])[:5]
    lines = "\n".join(f"  {_mib(sizes[path])}  {path}" for path in largest)
    return WorkdirError(
        f"The working directory {directory} has {what}, and a job takes at most {_mib(most)}. The largest files:\n"
        f"{lines}\n{_LEAVE_OUT}"
    )


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"
