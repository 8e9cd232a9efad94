"""A function per operation of the API. Written by `npm run generate` from the OpenAPI document of the API. Do not edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ._request import Request, quote

if TYPE_CHECKING:
    from . import types


def audit_list(
    project: str,
    *,
    since: str | None = None,
    until: str | None = None,
    principal: str | None = None,
    verb: str | None = None,
    object: str | None = None,
    outcome: Literal["allowed", "denied"] | None = None,
    page_size: int | None = None,
    page_token: str | None = None,
) -> Request[types.AuditList]:
    """Who did what from where, and what was refused, newest first; project "-": of the whole cluster (administrators).

    since: Entries of this time and later.
    until: Entries before this time.
    principal: Name of who asked.
    verb: Such as job.create, or of a denial the right that was missing.
    object: The whole of it, such as research/tiny-gpt.
    outcome: Absent: both.
    page_size: Most items of the page; it can have fewer.
    page_token: nextPageToken of the page before. Absent: the first page.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/audit",
        query={"since": since, "until": until, "principal": principal, "verb": verb, "object": object, "outcome": outcome, "pageSize": page_size, "pageToken": page_token},
        answer="json",
    )


def checkpoints_adopt(
    project: str,
    body: types.CheckpointAdoptInput,
) -> Request[types.CheckpointRecord]:
    """Adopt a checkpoint that no job saved; it is verified before a job can resume from it."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/checkpoints",
        body=body,
        answer="json",
    )


def code_get(
    project: str,
    sha256: str,
    *,
    namespace: str | None = None,
) -> Request[types.CodeArchive]:
    """An archive of code that the project uploaded.

    namespace: Namespace of the job that will name the archive. Absent: the first of the project.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/code/{quote(sha256)}",
        query={"namespace": namespace},
        answer="json",
    )


def code_upload(
    project: str,
    sha256: str,
    content: bytes,
    *,
    namespace: str | None = None,
) -> Request[types.CodeArchive]:
    """Upload an archive of code under its SHA-256; a job names it in spec.code.

    namespace: Namespace of the job that will name the archive. Absent: the first of the project.
    """
    return Request(
        method="PUT",
        path=f"/v1/projects/{quote(project)}/code/{quote(sha256)}",
        query={"namespace": namespace},
        content=content,
        content_type="application/gzip",
        answer="json",
    )


def costs_csv_of_month(
    project: str,
    *,
    month: str | None = None,
) -> Request[str]:
    """The same as a file of FOCUS 1.2, for months with at most 500 jobs.

    month: In UTC, such as 2030-01. Absent: this month so far.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/costs.csv",
        query={"month": month},
        answer="text",
    )


def costs_of_month(
    project: str,
    *,
    month: str | None = None,
    page_size: int | None = None,
    page_token: str | None = None,
) -> Request[types.CostList]:
    """What the jobs of a project cost in a month, by the price list of the administrator; project "-": all jobs.

    month: In UTC, such as 2030-01. Absent: this month so far.
    page_size: Most items of the page; it can have fewer.
    page_token: nextPageToken of the page before. Absent: the first page.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/costs",
        query={"month": month, "pageSize": page_size, "pageToken": page_token},
        answer="json",
    )


def fabric_changes(
    snapshot_id: str,
    *,
    since: str | None = None,
) -> Request[types.FabricChanges]:
    """What changed since the snapshot before, or since another one (administrators).

    since: Id of the snapshot to compare with. Absent: the one before.
    """
    return Request(
        method="GET",
        path=f"/v1/fabric/snapshots/{quote(snapshot_id)}/changes",
        query={"since": since},
        answer="json",
    )


def fabric_read(
) -> Request[types.ClusterFabric]:
    """Every node with GPUs, where it sits, and which jobs hold it (administrators)."""
    return Request(
        method="GET",
        path="/v1/fabric",
        answer="json",
    )


def fabric_snapshot(
    snapshot_id: str,
) -> Request[types.RecordedFabric]:
    """What the fabric looked like then (administrators)."""
    return Request(
        method="GET",
        path=f"/v1/fabric/snapshots/{quote(snapshot_id)}",
        answer="json",
    )


def fabric_snapshots(
    *,
    since: str | None = None,
    until: str | None = None,
    page_size: int | None = None,
    page_token: str | None = None,
) -> Request[types.FabricSnapshotList]:
    """When the fabric changed, newest first, and how many nodes came, went and changed (administrators).

    since: Taken at this time or later.
    until: Taken at this time or before: the first of the answer is how the fabric was then.
    page_size: Most items of the page; it can have fewer.
    page_token: nextPageToken of the page before. Absent: the first page.
    """
    return Request(
        method="GET",
        path="/v1/fabric/snapshots",
        query={"since": since, "until": until, "pageSize": page_size, "pageToken": page_token},
        answer="json",
    )


def goodput_of_job(
    project: str,
    job_id: str,
) -> Request[types.JobGoodput]:
    """Where the GPU-seconds of a job went, each in exactly one category."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/goodput",
        answer="json",
    )


def gpu_counts_read(
    project: str,
) -> Request[types.GpuCounts]:
    """How many GPUs the cluster has and how many are free, by type; for every member of the project."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/gpus",
        answer="json",
    )


def group_roles_grant(
    project: str,
    body: types.GroupRoleCreateInput,
) -> Request[types.GroupRole]:
    """Give a group a role, in place of the one that it had."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/group-roles",
        body=body,
        is_keyed=True,
        answer="json",
    )


def group_roles_list(
    project: str,
) -> Request[types.GroupRoleList]:
    """Groups that have a role; project "-": in the cluster."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/group-roles",
        answer="json",
    )


def group_roles_revoke(
    project: str,
    group_role_id: str,
) -> Request[None]:
    """Take a role from a group."""
    return Request(
        method="DELETE",
        path=f"/v1/projects/{quote(project)}/group-roles/{quote(group_role_id)}",
        answer="none",
    )


def incidents_list(
    project: str,
    *,
    kind: Literal["Crash", "NodeLost", "NodeLeaving", "Evicted", "StartFailed", "CheckpointTrouble", "Hang", "NetworkHang", "Desync", "NotTraining", "SlowRank", "SlowLink", "SlowJob", "Imbalance", "CollectionPauses", "DataStall", "BadLoss"] | None = None,
    state: Literal["open", "over"] | None = None,
    node: str | None = None,
    page_size: int | None = None,
    page_token: str | None = None,
) -> Request[types.IncidentList]:
    """What went wrong with the jobs of a project, newest first: what was seen, done, and what came of it.

    kind: Absent: all.
    state: Absent: both.
    node: Seen on this node.
    page_size: Most items of the page; it can have fewer.
    page_token: nextPageToken of the page before. Absent: the first page.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/incidents",
        query={"kind": kind, "state": state, "node": node, "pageSize": page_size, "pageToken": page_token},
        answer="json",
    )


def incidents_of_job(
    project: str,
    job_id: str,
    *,
    kind: Literal["Crash", "NodeLost", "NodeLeaving", "Evicted", "StartFailed", "CheckpointTrouble", "Hang", "NetworkHang", "Desync", "NotTraining", "SlowRank", "SlowLink", "SlowJob", "Imbalance", "CollectionPauses", "DataStall", "BadLoss"] | None = None,
    state: Literal["open", "over"] | None = None,
    node: str | None = None,
    page_size: int | None = None,
    page_token: str | None = None,
) -> Request[types.IncidentList]:
    """What went wrong with a job, newest first.

    kind: Absent: all.
    state: Absent: both.
    node: Seen on this node.
    page_size: Most items of the page; it can have fewer.
    page_token: nextPageToken of the page before. Absent: the first page.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/incidents",
        query={"kind": kind, "state": state, "node": node, "pageSize": page_size, "pageToken": page_token},
        answer="json",
    )


def job_history_checkpoints(
    project: str,
    job_id: str,
) -> Request[types.CheckpointList]:
    """Saved states, oldest first."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/checkpoints",
        answer="json",
    )


def job_history_events(
    project: str,
    job_id: str,
    *,
    after: int | None = None,
) -> Request[types.JobEventList]:
    """What happened, in plain words, oldest first.

    after: Id of the last event that was seen.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/events",
        query={"after": after},
        answer="json",
    )


def job_history_ranks(
    project: str,
    job_id: str,
) -> Request[types.RankMap]:
    """Which rank is where."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/ranks",
        answer="json",
    )


def job_history_steps(
    project: str,
    job_id: str,
    *,
    epoch: int | None = None,
    from_step: int | None = None,
    to_step: int | None = None,
    limit: int | None = None,
    max_points: int | None = None,
) -> Request[types.StepList]:
    """The loss curve; the newest attempt counts where attempts overlap.

    epoch: Number of the attempt. Absent: of steps that several attempts trained, those of the newest one.
    from_step: The first step of the answer.
    to_step: The last step of the answer.
    limit: Most steps of the answer, 2000 by default.
    max_points: Instead of limit: all of the steps in at most so many points. One point can stand for several steps.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/steps",
        query={"epoch": epoch, "fromStep": from_step, "toStep": to_step, "limit": limit, "maxPoints": max_points},
        answer="json",
    )


def job_streams_logs(
    project: str,
    job_id: str,
    *,
    rank: int | None = None,
    all_ranks: str | None = None,
    attempt: int | None = None,
    tail_lines: int | None = None,
    since: str | None = None,
    grep: str | None = None,
    follow: str | None = None,
) -> Request[str]:
    """The log of the pod that holds a rank, or of all pods; where a pod is gone, what was kept of it or what its attempt recorded; 64 MiB unless it is followed.

    rank: Whose log.
    all_ranks: The logs of all ranks, in place of one.
    attempt: Number of the attempt. Absent: the newest attempt that was placed.
    tail_lines: Absent: the whole log.
    since: Only lines that were written since then.
    grep: Only lines that contain this text.
    follow: Whether the answer goes on as the log grows.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/logs",
        query={"rank": rank, "allRanks": all_ranks, "attempt": attempt, "tailLines": tail_lines, "since": since, "grep": grep, "follow": follow},
        answer="text",
    )


def job_streams_stream(
    project: str,
    job_id: str,
    *,
    after: int | None = None,
) -> Request[str]:
    """The job as it happens: event, job, step, and resync where something was left out; goes on after Last-Event-ID.

    after: Id of the last event that was seen.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/events/stream",
        query={"after": after},
        answer="events",
    )


def jobs_cancel(
    project: str,
    job_id: str,
    *,
    if_match: str | None = None,
) -> Request[types.Job]:
    """Stop for good; the object stays.

    if_match: Tags as ETag gave them, separated by commas: where it is none of these any more, nothing is done. `*`: any.
    """
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/cancel",
        if_match=if_match,
        answer="json",
    )


def jobs_check(
    project: str,
    body: types.JobCreateInput,
) -> Request[types.JobCheck]:
    """What the job would wait for; nothing is submitted."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/jobs/check",
        body=body,
        answer="json",
    )


def jobs_create(
    project: str,
    body: types.JobCreateInput,
) -> Request[types.Job]:
    """Submit a job; an Idempotency-Key makes a repetition safe."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/jobs",
        body=body,
        is_keyed=True,
        answer="json",
    )


def jobs_get(
    project: str,
    job_id: str,
) -> Request[types.Job]:
    """One job; its ETag begins with specVersion, for If-Match."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}",
        answer="json",
    )


def jobs_list(
    project: str,
    *,
    page_size: int | None = None,
    page_token: str | None = None,
    state: Literal["Queued", "Starting", "Running", "Restarting", "Suspending", "Suspended", "Stopping", "Complete", "Failed", "Cancelled", "Submitting", "Refused", "Deleting", "Deleted"] | None = None,
    label_selector: str | None = None,
    owner: str | None = None,
    q: str | None = None,
    order_by: Literal["createdAt", "name", "finishedAt"] | None = None,
    direction: Literal["asc", "desc"] | None = None,
    fields: str | None = None,
) -> Request[types.JobList]:
    """Jobs of a project: by labels, owner, state and name, in the order that is asked for.

    page_size: Most items of the page; it can have fewer.
    page_token: nextPageToken of the page before. Absent: the first page.
    state: Absent: every state but Deleted.
    label_selector: Labels as kubectl selects them: team=vision, stage!=old, team in (a,b), team notin (a,b), team, !team; all of them, with commas between.
    owner: Name of who made them.
    q: Words with spaces between them: the name holds each of them, at its beginning or after a "-" or ".".
    order_by: finishedAt lists only jobs that have ended.
    direction: Default: names from a, times from the newest.
    fields: What each item holds beside its summary: spec, plan, attempts, conditions, separated by commas.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/jobs",
        query={"pageSize": page_size, "pageToken": page_token, "state": state, "labelSelector": label_selector, "owner": owner, "q": q, "orderBy": order_by, "direction": direction, "fields": fields},
        answer="json",
    )


def jobs_patch(
    project: str,
    job_id: str,
    body: types.JobPatchInput,
    *,
    if_match: str | None = None,
) -> Request[types.Job]:
    """Change its labels.

    if_match: Tags as ETag gave them, separated by commas: where it is none of these any more, nothing is done. `*`: any.
    """
    return Request(
        method="PATCH",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}",
        body=body,
        if_match=if_match,
        answer="json",
    )


def jobs_remove(
    project: str,
    job_id: str,
    *,
    if_match: str | None = None,
) -> Request[None]:
    """Delete the job; its record stays.

    if_match: Tags as ETag gave them, separated by commas: where it is none of these any more, nothing is done. `*`: any.
    """
    return Request(
        method="DELETE",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}",
        if_match=if_match,
        answer="none",
    )


def jobs_resume(
    project: str,
    job_id: str,
    body: types.JobResumeInput | None = None,
    *,
    if_match: str | None = None,
) -> Request[types.Job]:
    """Run again, on another layout if one is given.

    if_match: Tags as ETag gave them, separated by commas: where it is none of these any more, nothing is done. `*`: any.
    """
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/resume",
        body=body,
        if_match=if_match,
        answer="json",
    )


def jobs_suspend(
    project: str,
    job_id: str,
    *,
    if_match: str | None = None,
) -> Request[types.Job]:
    """Save, stop and hold.

    if_match: Tags as ETag gave them, separated by commas: where it is none of these any more, nothing is done. `*`: any.
    """
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/suspend",
        if_match=if_match,
        answer="json",
    )


def layouts_create(
    project: str,
    body: types.LayoutCreateInput,
) -> Request[types.StoredLayout]:
    """Validate a layout and keep it."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/layouts",
        body=body,
        is_keyed=True,
        answer="json",
    )


def layouts_get(
    project: str,
    layout_id: str,
) -> Request[types.StoredLayout]:
    """One layout."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/layouts/{quote(layout_id)}",
        answer="json",
    )


def layouts_list(
    project: str,
) -> Request[types.LayoutList]:
    """Layouts of a project, newest first."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/layouts",
        answer="json",
    )


def observed_jobs_list(
    project: str,
) -> Request[types.ObservedJobs]:
    """Jobs of other controllers whose pods are observed: what their ranks do, findings, and what is unknown."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/observed-jobs",
        answer="json",
    )


def plans_accuracy(
    project: str,
) -> Request[types.PlanAccuracy]:
    """Predicted against measured step times of past jobs."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/plans/accuracy",
        answer="json",
    )


def plans_create(
    project: str,
    body: types.PlanRequestInput,
) -> Request[types.StoredPlan]:
    """Ask what if; nothing runs. The answer is kept."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/plans",
        body=body,
        is_keyed=True,
        answer="json",
    )


def plans_get(
    project: str,
    plan_id: str,
) -> Request[types.StoredPlan]:
    """One plan with its whole answer."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/plans/{quote(plan_id)}",
        answer="json",
    )


def plans_list(
    project: str,
    *,
    page_size: int | None = None,
    page_token: str | None = None,
) -> Request[types.PlanList]:
    """Plans that were asked for, newest first.

    page_size: Most items of the page; it can have fewer.
    page_token: nextPageToken of the page before. Absent: the first page.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/plans",
        query={"pageSize": page_size, "pageToken": page_token},
        answer="json",
    )


def project_checkpoints_forget(
    project: str,
    uid: str,
) -> Request[None]:
    """Forget an adopted checkpoint; its files stay."""
    return Request(
        method="DELETE",
        path=f"/v1/projects/{quote(project)}/checkpoints/{quote(uid)}",
        answer="none",
    )


def project_checkpoints_get(
    project: str,
    uid: str,
) -> Request[types.CheckpointDetail]:
    """One checkpoint with its verifications."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/checkpoints/{quote(uid)}",
        answer="json",
    )


def project_checkpoints_list(
    project: str,
    *,
    job: str | None = None,
    name: str | None = None,
    verdict: Literal["sound", "damaged", "incomplete", "suspect", "unverifiable", "none"] | None = None,
    good: str | None = None,
    deleted: str | None = None,
    page_size: int | None = None,
    page_token: str | None = None,
) -> Request[types.CheckpointPage]:
    """Checkpoints of a project, newest first.

    job: Id or name of the job that saved it. Absent: any job.
    name: Exact name of the Checkpoint.
    verdict: Verdict of its closest verification; none: it has no verification. Absent: any.
    good: Lists only those that are complete, not suspect, not found damaged or incomplete, not absent, and not being deleted.
    deleted: Lists those whose object was deleted, too.
    page_size: Most items of the page; it can have fewer.
    page_token: nextPageToken of the page before. Absent: the first page.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/checkpoints",
        query={"job": job, "name": name, "verdict": verdict, "good": good, "deleted": deleted, "pageSize": page_size, "pageToken": page_token},
        answer="json",
    )


def project_checkpoints_pin(
    project: str,
    uid: str,
    body: types.CheckpointPinInput,
) -> Request[types.CheckpointRecord]:
    """Keep it, whatever the retention; a reason replaces the one before."""
    return Request(
        method="PUT",
        path=f"/v1/projects/{quote(project)}/checkpoints/{quote(uid)}/pin",
        body=body,
        answer="json",
    )


def project_checkpoints_unpin(
    project: str,
    uid: str,
) -> Request[types.CheckpointRecord]:
    """Remove the pin; retention may delete the checkpoint."""
    return Request(
        method="DELETE",
        path=f"/v1/projects/{quote(project)}/checkpoints/{quote(uid)}/pin",
        answer="json",
    )


def project_checkpoints_verify(
    project: str,
    uid: str,
    body: types.CheckpointVerifyInput | None = None,
) -> Request[types.CheckpointVerifyRequest]:
    """Have a pod verify its bytes; the answer comes before the verification."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/checkpoints/{quote(uid)}/verify",
        body=body,
        answer="json",
    )


def projects_create(
    body: types.ProjectCreateInput,
) -> Request[types.Project]:
    """Make a project that owns namespaces (cluster administrators)."""
    return Request(
        method="POST",
        path="/v1/projects",
        body=body,
        is_keyed=True,
        answer="json",
    )


def projects_create_token(
    project: str,
    body: types.ApiTokenCreateInput,
) -> Request[types.ApiTokenCreated]:
    """Make an API token; its secret is shown this once."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/tokens",
        body=body,
        answer="json",
    )


def projects_get(
    project: str,
) -> Request[types.Project]:
    """One project."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}",
        answer="json",
    )


def projects_limits(
    project: str,
) -> Request[types.ProjectLimitList]:
    """What the project may use of the API, and what of it is used now."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/limits",
        answer="json",
    )


def projects_list(
) -> Request[types.ProjectList]:
    """Projects that the token may see."""
    return Request(
        method="GET",
        path="/v1/projects",
        answer="json",
    )


def projects_list_tokens(
    project: str,
) -> Request[types.ApiTokenList]:
    """Tokens of a project, newest first; never their secrets."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/tokens",
        answer="json",
    )


def projects_patch(
    project: str,
    body: types.ProjectPatchInput,
) -> Request[types.Project]:
    """Change which PriorityClasses jobs of the project may name (cluster administrators)."""
    return Request(
        method="PATCH",
        path=f"/v1/projects/{quote(project)}",
        body=body,
        answer="json",
    )


def projects_revoke_token(
    project: str,
    token_id: str,
) -> Request[None]:
    """Revoke a token."""
    return Request(
        method="DELETE",
        path=f"/v1/projects/{quote(project)}/tokens/{quote(token_id)}",
        answer="none",
    )


def projects_rotate_token(
    project: str,
    token_id: str,
    body: types.ApiTokenRotateInput | None = None,
) -> Request[types.ApiTokenCreated]:
    """Make a successor; the old token stays good for a while."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/tokens/{quote(token_id)}/rotate",
        body=body,
        answer="json",
    )


def queue_of_job(
    project: str,
    job_id: str,
) -> Request[types.JobStart]:
    """When a job is expected to start, and what would let it start earlier."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/start",
        answer="json",
    )


def queue_read(
    project: str,
    *,
    limit: int | None = None,
) -> Request[types.Queue]:
    """Jobs that wait for GPUs, in order, with expected starts; jobs of other projects have no names.

    limit: Most jobs of the answer. Jobs of the project are listed before others.
    """
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/queue",
        query={"limit": limit},
        answer="json",
    )


def renderings_ask(
    project: str,
    body: types.RenderingRequestInput,
) -> Request[types.EngineRendering]:
    """What would be run for a layout, or why its engine refuses; nothing runs, and nothing is kept."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/renderings",
        body=body,
        answer="json",
    )


def renderings_engines(
) -> Request[types.EngineList]:
    """Engines, their releases, and the options that each supports."""
    return Request(
        method="GET",
        path="/v1/engines",
        answer="json",
    )


def renderings_of_job(
    project: str,
    job_id: str,
) -> Request[types.JobRendering]:
    """What the job runs: arguments, files and environment of its engine; before it is placed, what it would run."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/rendering",
        answer="json",
    )


def sign_in_end(
) -> Request[None]:
    """End the session that the request belongs to."""
    return Request(
        method="POST",
        path="/v1/sign-out",
        answer="none",
    )


def sign_in_methods(
) -> Request[types.SignInMethods]:
    """How people can sign in."""
    return Request(
        method="GET",
        path="/v1/sign-in",
        answer="json",
    )


def sign_in_trade(
    body: types.SignInTradeInput,
) -> Request[types.SignInToken]:
    """Trade an ID token of the issuer for a token of ours."""
    return Request(
        method="POST",
        path="/v1/sign-in/tokens",
        body=body,
        answer="json",
    )


def stacks_take(
    project: str,
    job_id: str,
    *,
    rank: int | None = None,
) -> Request[types.JobStacks]:
    """Current stack traces of a job’s ranks: equal stacks grouped, and the ranks that did not answer.

    rank: Asks the pod of this rank alone, which takes less long. Absent: all.
    """
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/jobs/{quote(job_id)}/stacks",
        query={"rank": rank},
        answer="json",
    )


def webhooks_create(
    project: str,
    body: types.WebhookCreateInput,
) -> Request[types.WebhookCreated]:
    """Add an endpoint; its signing secret is shown this once."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/webhooks",
        body=body,
        answer="json",
    )


def webhooks_deliveries(
    project: str,
    webhook_id: str,
) -> Request[types.WebhookDeliveryList]:
    """What was sent to an endpoint, newest first."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/webhooks/{quote(webhook_id)}/deliveries",
        answer="json",
    )


def webhooks_enable(
    project: str,
    webhook_id: str,
) -> Request[types.Webhook]:
    """Send to an endpoint again that was disabled."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/webhooks/{quote(webhook_id)}/enable",
        answer="json",
    )


def webhooks_list(
    project: str,
) -> Request[types.WebhookList]:
    """Endpoints that receive the events of a project’s jobs, newest first; secrets are never returned."""
    return Request(
        method="GET",
        path=f"/v1/projects/{quote(project)}/webhooks",
        answer="json",
    )


def webhooks_remove(
    project: str,
    webhook_id: str,
) -> Request[None]:
    """Remove an endpoint, with what waits for it."""
    return Request(
        method="DELETE",
        path=f"/v1/projects/{quote(project)}/webhooks/{quote(webhook_id)}",
        answer="none",
    )


def webhooks_rotate(
    project: str,
    webhook_id: str,
    body: types.WebhookRotateInput | None = None,
) -> Request[types.WebhookCreated]:
    """Make another signing secret; messages carry the signature of the old one too for a while."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/webhooks/{quote(webhook_id)}/rotate",
        body=body,
        answer="json",
    )


def webhooks_test(
    project: str,
    webhook_id: str,
) -> Request[types.WebhookDelivery]:
    """Send a message that tells of nothing."""
    return Request(
        method="POST",
        path=f"/v1/projects/{quote(project)}/webhooks/{quote(webhook_id)}/test",
        answer="json",
    )


def who_am_i_get(
) -> Request[types.WhoAmI]:
    """Who asks, and what they may do where."""
    return Request(
        method="GET",
        path="/v1/whoami",
        answer="json",
    )
