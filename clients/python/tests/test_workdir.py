"""What is shipped with a job: a directory, a program or a function."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import coxswain
from conftest import Server, problem
from coxswain._function_source import function_source
from coxswain._workdir import pack

AJob = Callable[..., dict[str, Any]]
SPEC = {"engine": {"name": "command", "image": "i", "command": ["true"]}, "layout": {"dataParallelDegree": 1}}
ABSENT = problem(404, "NOT_FOUND", "No such archive.")
FACTOR = 2


def a_project(root: Path) -> None:
    for path in ("train.py", "src/model.py", "data/train.bin", "logs/a.log", "logs/keep.log", "src/__pycache__/m.pyc"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    (root / ".gitignore").write_text("data/\n*.log\n")
    (root / "logs/.gitignore").write_text("!keep.log\n")


def names(content: bytes) -> list[str]:
    with tarfile.open(fileobj=BytesIO(content)) as tar:
        return tar.getnames()


@pytest.mark.parametrize("is_repository", [False, True], ids=["without a repository", "in a repository"])
def test_gitignore_is_obeyed(tmp_path: Path, is_repository: bool) -> None:
    a_project(tmp_path)
    if is_repository:
        subprocess.run(["git", "-C", str(tmp_path), "init", "--quiet"], check=True)
    wanted = [".gitignore", "logs/.gitignore", "logs/keep.log", "src/model.py", "train.py"]
    assert names(pack(tmp_path).content) == wanted


def test_a_submodule_that_was_not_checked_out_has_no_files(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x")
    (tmp_path / "vendor").mkdir()
    entry = f"160000,{'1' * 40},vendor"
    for command in (["init", "--quiet"], ["update-index", "--add", "--cacheinfo", entry]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    assert names(pack(tmp_path).content) == ["train.py"]
    with pytest.raises(coxswain.WorkdirError, match="has no files"):
        pack(tmp_path / "vendor")
    (tmp_path / "vendor/lib.py").write_text("x")
    assert names(pack(tmp_path).content) == ["train.py", "vendor/lib.py"]


def test_the_same_files_have_the_same_digest(tmp_path: Path) -> None:
    a_project(tmp_path)
    first = pack(tmp_path).sha256
    os.utime(tmp_path / "train.py", (1, 1))
    assert pack(tmp_path).sha256 == first
    (tmp_path / "train.py").write_text("edited")
    assert pack(tmp_path).sha256 != first


def test_modes_links_and_long_names_are_kept(tmp_path: Path) -> None:
    long = f"{'deep/' * 30}größe.py"
    (tmp_path / long).parent.mkdir(parents=True)
    (tmp_path / long).write_text("x")
    (tmp_path / "run.sh").write_text("x")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "start").symlink_to("run.sh")
    with tarfile.open(fileobj=BytesIO(pack(tmp_path).content)) as tar:
        assert {each.name: (each.mode, each.linkname, each.mtime, each.uid) for each in tar} == {
            long: (0o644, "", 0, 0),
            "run.sh": (0o755, "", 0, 0),
            "start": (0o644, "run.sh", 0, 0),
        }


def test_links_that_lead_outside_are_all_named(tmp_path: Path) -> None:
    (tmp_path / "up").symlink_to("../other")
    (tmp_path / "hosts").symlink_to("/etc/hosts")
    with pytest.raises(coxswain.WorkdirError, match=r"(?s)hosts -> /etc/hosts.*up -> \.\./other"):
        pack(tmp_path)


def test_a_directory_that_is_too_large_is_refused_with_its_largest_files(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text("x")
    with (tmp_path / "weights.bin").open("wb") as file:
        file.truncate(300 << 20)
    with pytest.raises(coxswain.WorkdirError, match=r"(?s)300\.0 MiB of files.*300\.0 MiB  weights\.bin.*\.gitignore"):
        pack(tmp_path)


# As apps/cli/src/workdir/workdir.spec.ts has them.
HOME_FILES = [".ssh/id_ed25519", ".aws/config", ".kube/config", ".docker/config.json", ".netrc"]
HOME_FILES += [".git-credentials", ".cache/huggingface/token"]
SECRETS = [".env", ".envrc", "prod.env", ".env.local", "keys/id_rsa", "tls.pem", "service-account.json"]
SECRETS += ["secrets.yaml", "gcp-credentials.json", "hf_token", "Kubeconfig", "k8s/db-secret.yml"]
HARMLESS = [".env.example", "train.py", "environment.py", "tokenizer.json", "secrets.py", "src/token.py"]


def write_all(root: Path, paths: list[str]) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


@pytest.mark.parametrize("is_repository", [False, True], ids=["without a repository", "in a repository"])
def test_credentials_of_a_person_are_never_shipped(tmp_path: Path, is_repository: bool) -> None:
    write_all(tmp_path, [*HOME_FILES, "train.py", "src/aws/s3.py"])
    if is_repository:
        subprocess.run(["git", "-C", str(tmp_path), "init", "--quiet"], check=True)
    left_out = r"Left out: \.aws, \.cache/huggingface/token, \.docker, \.git-credentials, \.kube, \.netrc, \.ssh\."
    with pytest.warns(UserWarning, match=left_out):
        assert names(pack(tmp_path).content) == ["src/aws/s3.py", "train.py"]


def test_files_that_look_like_secrets_get_a_warning(tmp_path: Path) -> None:
    write_all(tmp_path, [*SECRETS, *HARMLESS])
    with pytest.warns(UserWarning) as warned:
        pack(tmp_path)
    assert str(warned[0].message).startswith(f"{', '.join(sorted(SECRETS))} look like a secret")


def test_the_directory_of_a_program_is_shipped_unasked_only_from_a_repository(
    tmp_path: Path, server: Server, a_job: AJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_all(tmp_path, ["train.py", "project/train.py"])
    for program in ("~/train.py", tmp_path / "project/train.py"):
        with pytest.raises(coxswain.JobFileError, match=r"workdir= is missing.*is in no git repository.*Pass workdir='/"):
            server.client().submit(program, image="i")
    assert server.asked == []
    for repository in (tmp_path, tmp_path / "project"):
        subprocess.run(["git", "-C", str(repository), "init", "--quiet"], check=True)
    server.answers = [ABSENT, {}, a_job()]
    server.client().submit("~/project/train.py", image="i")
    assert names(server.asked[1].content) == ["train.py"]
    with pytest.raises(coxswain.JobFileError, match="workdir= is missing"):
        server.client().submit("~/train.py", image="i")


def test_headers_padding_and_the_end_count_as_in_a_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text("x")
    monkeypatch.setattr("coxswain._workdir.MAX_UNPACKED_BYTES", tarfile.RECORDSIZE)
    pack(tmp_path)
    monkeypatch.setattr("coxswain._workdir.MAX_UNPACKED_BYTES", tarfile.RECORDSIZE - 1)
    with pytest.raises(coxswain.WorkdirError, match="MiB of files, and a job takes at most"):
        pack(tmp_path)


@pytest.mark.parametrize("is_known", [False, True], ids=["uploaded once", "not uploaded if the project has it"])
def test_the_directory_of_a_job_file_is(tmp_path: Path, server: Server, a_job: AJob, is_known: bool) -> None:
    (tmp_path / "train.py").write_text("print(1)")
    server.answers = [{}, a_job()] if is_known else [ABSENT, {}, a_job()]
    server.client().submit({"name": "tiny", "spec": SPEC}, workdir=tmp_path)
    assert [request.method for request in server.asked] == (["GET", "POST"] if is_known else ["GET", "PUT", "POST"])
    digest = pack(tmp_path).sha256
    assert server.asked[0].url.path == f"/v1/projects/research/code/{digest}"
    assert json.loads(server.asked[-1].content)["spec"]["code"] == {"sha256": digest}
    if not is_known:
        assert server.asked[1].headers["content-type"] == "application/gzip"
        assert server.asked[1].content == pack(tmp_path).content


def test_another_refusal_than_that_it_is_absent_ends_the_submission(tmp_path: Path, server: Server) -> None:
    (tmp_path / "train.py").write_text("print(1)")
    server.answers = [problem(403, "FORBIDDEN", "Not yours.")]
    with pytest.raises(coxswain.ApiError, match="Not yours"):
        server.client().submit({"name": "tiny", "spec": SPEC}, workdir=tmp_path)


def test_a_program_is_run_in_its_directory(tmp_path: Path, server: Server, a_job: AJob) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/train_it.py").write_text("print(1)")
    server.answers = [ABSENT, {}, a_job()]
    server.client().submit(
        "src/train_it.py",
        workdir=tmp_path,
        args=["--lr", "1e-4"],
        image="a/b:1",
        gpus=16,
        model="llama-3.1-8b",
        checkpoints="saves/mine",
        data="corpus",
        environment={"WANDB_PROJECT": "mine"},
    )
    body = json.loads(server.asked[-1].content)
    assert re.fullmatch("train-it-[0-9a-f]{4}", body["name"])
    assert body["spec"]["checkpoint"] == {"claimName": "saves", "path": "mine"}
    assert body["spec"]["data"] == {"claimName": "corpus", "path": ""}
    assert body["spec"]["engine"]["env"] == [{"name": "WANDB_PROJECT", "value": "mine"}]
    assert body["spec"]["engine"]["command"] == ["python3", "src/train_it.py", "--lr", "1e-4"]
    assert body["spec"]["layout"] == {"dataParallelDegree": 16}
    assert body["spec"]["model"] == {"preset": "llama-3.1-8b"}


@pytest.mark.parametrize(
    ("job", "options", "sentence"),
    [
        ("none.py", {"image": "i"}, "none.py is no file"),
        ("train.py", {}, "image= is missing"),
        ("train.py", {"image": "i", "args": {"lr": 1}}, "args of a program are a list"),
        ({"name": "a", "spec": SPEC}, {"image": "i"}, "^image is for a program"),
        ({"name": "a", "spec": SPEC}, {"args": ["a"], "checkpoints": "c"}, "^args, checkpoints are for a program"),
    ],
    ids=["no file", "no image", "arguments of a function", "an image beside a job file", "a claim beside a job file"],
)
def test_a_submission_that_cannot_be_is_refused(
    tmp_path: Path, server: Server, job: Any, options: dict[str, Any], sentence: str
) -> None:
    (tmp_path / "train.py").write_text("print(1)")
    directory = {"workdir": tmp_path} if isinstance(job, str) else {}
    with pytest.raises(coxswain.JobFileError, match=sentence):
        server.client().submit(job, **directory, **options)
    assert server.asked == []


def train(lr: float, steps: int = 3) -> None:
    for step in range(steps):
        print(step, math.sqrt(lr))


def uses_a_global() -> int:
    return FACTOR


def uses_a_global_inside() -> list[int]:
    return [one * FACTOR for one in range(2) for scaled in [lambda: FACTOR] if scaled()]


def has_a_class() -> object:
    class Step:
        size = 1
        factor = FACTOR * size

    return Step()


def has_a_default(lr: int = FACTOR, *, steps: int = 1) -> int:
    return lr * steps


def has_a_keyword_default(*, scale: Callable[[int], int] = lambda one: one * FACTOR) -> int:
    return scale(1)


def needs_nothing(lr: float = math.pi, many: Any = tuple(one for one in range(2)), **more: Path) -> None:
    class Step:
        size = 1
        double = size * 2

    def inner(one: int) -> int:
        return one + Step.double if one == 0 else inner(one - 1)

    print(math.floor(lr), inner(1), many, [each.FACTOR for each in more.values()])


def test_a_function_with_code_inside_runs_as_its_source(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_bytes(function_source(needs_nothing, {}))
    done = subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, check=True, text=True)
    assert done.stdout == "3 2 (0, 1) []\n"


def test_a_function_runs_as_its_source_with_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_bytes(function_source(train, {"lr": 4.0, "steps": 2}))
    done = subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["0", "2.0", "1", "2.0"]


def test_a_function_is_submitted_as_a_program(server: Server, a_job: AJob) -> None:
    server.answers = [ABSENT, {}, a_job()]
    server.client().submit(train, args={"lr": 1.0}, image="a/b:1", gpus=2)
    assert names(server.asked[1].content) == ["coxswain_function.py"]
    body = json.loads(server.asked[-1].content)
    assert re.fullmatch("train-[0-9a-f]{4}", body["name"])
    assert body["spec"]["engine"]["command"] == ["python3", "coxswain_function.py"]


def closure() -> Callable[[], int]:
    inside = 3

    def uses_a_closure() -> int:
        return inside

    return uses_a_closure


def default_of_a_closure() -> Callable[..., int]:
    inside = 3

    def has_a_default(steps: int = inside) -> int:
        return steps

    return has_a_default


@pytest.mark.parametrize(
    ("function", "args", "sentence"),
    [
        (uses_a_global, {}, "uses FACTOR from outside"),
        (uses_a_global_inside, {}, "uses FACTOR from outside"),
        (has_a_class, {}, "uses FACTOR from outside"),
        (has_a_default, {}, "uses FACTOR from outside"),
        (has_a_keyword_default, {}, "uses FACTOR from outside"),
        (closure(), {}, "uses inside from outside"),
        (default_of_a_closure(), {}, "uses inside from outside"),
        (lambda: 1, {}, "write it with def"),
        (train, {"lr": object()}, "must be values of JSON"),
    ],
    ids=[
        *["a global", "a global in a comprehension", "a global in a class", "a global in a default"],
        *["a global in a lambda of a default", "a closure", "a variable around it in a default"],
        *["a lambda", "arguments that are no JSON"],
    ],
)
def test_a_function_that_its_source_does_not_hold_is_refused(
    function: Callable[..., Any], args: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(coxswain.WorkdirError, match=sentence):
        function_source(function, args)


def test_predict_asks_for_one_layout_and_says_why_it_does_not_fit(server: Server) -> None:
    asked = {"gpu": "h100", "gpus": 16, "global_batch_size": 64, "sequence_length": 4096}
    best = {"gpus": 16, "prediction": {"stepTimeS": 1.5}}
    server.answers = [{"answer": {"best": best}}, {"answer": {"plans": [], "whyNothing": "memory"}}]
    assert server.client().predict("llama-3.1-8b", tensor=4, pipeline=2, **asked) == best
    body = json.loads(server.asked[0].content)
    assert body["pinned"] == {"tensor": 4, "pipeline": 2, "context": 1, "data": 2}
    assert body["top"] == 1
    with pytest.raises(coxswain.CoxswainError, match="No layout fits: memory"):
        server.client().predict("llama-3.1-8b", **asked)
    with pytest.raises(coxswain.CoxswainError, match="does not divide 16 GPUs"):
        server.client().predict("llama-3.1-8b", tensor=3, **asked)
