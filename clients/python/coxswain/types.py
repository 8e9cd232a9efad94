"""What the API takes and answers, as it is in JSON. Written by `npm run generate` from the OpenAPI document of the API. Do not edit."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from typing_extensions import NotRequired, TypeAlias


class AccuracyFigures(TypedDict):
    n: int
    """Layouts of jobs that were predicted and measured; a restart on the same layout counts once."""
    medianAbsPct: float | None
    p90AbsPct: float | None
    """Nine of ten are closer than this."""
    biasPct: float | None
    """Mean; above 0: predictions are too long."""
    within10: float | None
    """Share within 10 %, in percent."""
    within20: float | None


class AccuracyGroup(TypedDict):
    engine: str
    gpuType: str
    n: int
    """Layouts of jobs that were predicted and measured; a restart on the same layout counts once."""
    medianAbsPct: float | None
    p90AbsPct: float | None
    """Nine of ten are closer than this."""
    biasPct: float | None
    """Mean; above 0: predictions are too long."""
    within10: float | None
    """Share within 10 %, in percent."""
    within20: float | None


class AllowedChoices(TypedDict):
    """Allowed choices. An absent list allows every choice that the engine supports."""
    schedules: NotRequired[list[Literal["gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-2p", "zbv", "v-half", "v-min", "dualpipe-v"]]]
    recompute: NotRequired[list[Literal["none", "core-attention", "norms", "mlp", "operations", "half", "full"]]]
    zeroStages: NotRequired[list[int]]
    partitions: NotRequired[list[Literal["even", "vocabulary", "balanced"]]]
    contextAlgorithms: NotRequired[list[Literal["ring", "allgather", "ulysses"]]]
    rankOrders: NotRequired[list[Literal["tp-cp-dp-pp", "tp-cp-pp-dp", "tp-dp-cp-pp", "tp-dp-pp-cp", "tp-pp-cp-dp", "tp-pp-dp-cp"]]]
    offload: NotRequired[bool]
    """Host memory may hold optimizer states or activations. Default true."""
    evenOnly: NotRequired[bool]
    """Only even divisions: tensor divides the attention heads, data divides the batch, and all pipeline stages have the same number of layers. Default false."""


class AllowedChoicesInput(TypedDict):
    """Allowed choices. An absent list allows every choice that the engine supports."""
    schedules: NotRequired[list[Literal["gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-2p", "zbv", "v-half", "v-min", "dualpipe-v"]]]
    recompute: NotRequired[list[Literal["none", "core-attention", "norms", "mlp", "operations", "half", "full"]]]
    zeroStages: NotRequired[list[int]]
    partitions: NotRequired[list[Literal["even", "vocabulary", "balanced"]]]
    contextAlgorithms: NotRequired[list[Literal["ring", "allgather", "ulysses"]]]
    rankOrders: NotRequired[list[Literal["tp-cp-dp-pp", "tp-cp-pp-dp", "tp-dp-cp-pp", "tp-dp-pp-cp", "tp-pp-cp-dp", "tp-pp-dp-cp"]]]
    offload: NotRequired[bool]
    """Host memory may hold optimizer states or activations. Default true."""
    evenOnly: NotRequired[bool]
    """Only even divisions: tensor divides the attention heads, data divides the batch, and all pipeline stages have the same number of layers. Default false."""


class ApiToken(TypedDict):
    id: str
    name: str
    role: Literal["viewer", "submitter", "operator", "admin"]
    prefix: str
    createdAt: str
    expiresAt: str | None
    lastUsedAt: str | None
    """The hour in which it was last used, written at most once in it."""
    rotatedFrom: str | None
    """The token that it succeeds."""


class ApiTokenCreateInput(TypedDict):
    name: str
    role: NotRequired[Literal["viewer", "submitter", "operator", "admin"]]
    expiresAt: NotRequired[str]
    """Default: set by the installation, 90 days unless changed."""
    neverExpires: NotRequired[bool]
    """True in place of expiresAt: good until it is revoked."""


class ApiTokenCreated(TypedDict):
    id: str
    name: str
    role: Literal["viewer", "submitter", "operator", "admin"]
    prefix: str
    createdAt: str
    expiresAt: str | None
    lastUsedAt: str | None
    """The hour in which it was last used, written at most once in it."""
    rotatedFrom: str | None
    """The token that it succeeds."""
    token: str
    """Shown once; only a hash is stored."""


class ApiTokenList(TypedDict):
    items: list[ApiToken]


class ApiTokenRotateInput(TypedDict):
    overlapSeconds: NotRequired[int]
    """How long the old token stays good, at most until it expires; 0: not at all."""
    expiresAt: NotRequired[str]
    """Default: set by the installation, 90 days unless changed."""
    neverExpires: NotRequired[bool]
    """True in place of expiresAt: good until it is revoked."""


class ApplyFailure(TypedDict):
    message: str
    """Answer of the cluster, or why there is none."""
    since: str
    """First of the failures in a row."""
    retryAt: str | None
    """Time of the next try. null: the cluster refused the change, and Coxswain does not try again."""


class AskedEngineInput(TypedDict):
    name: Literal["reference", "command", "megatron-lm", "megatron-bridge", "torchtitan", "torchtitan-toml", "deepspeed", "megatron-deepspeed", "galvatron", "mindspeed", "mindformers", "flagscale", "colossalai", "libai", "redco", "areal", "verl", "nemo-rl", "zero-bubble", "vocabulary-parallelism", "skippipe", "deep-optimizer-states", "linear-moe", "zo2", "natural-galore", "rcm", "hugging-face", "custom"]
    """Those that no job can name are refused with what to do instead."""
    command: NotRequired[list[str]]
    """Program of one rank. Required for command, custom, deepspeed and hugging-face; absent, megatron-lm, megatron-bridge and torchtitan start their own."""
    release: NotRequired[str]
    """Release of the engine in the image, such as core_v0.16.1 of megatron-lm. Absent: the newest that is known (docs/reference/engines.md)."""
    recipe: NotRequired[str]
    """Function of the engine that returns the initial configuration, as module:function (torchtitan, megatron-bridge)."""
    startedBy: NotRequired[Literal["launcher", "torchrun", "ft_launcher"]]
    """Program that starts the ranks. launcher: the Coxswain launcher starts each rank, and reports their ends most precisely. torchrun, ft_launcher: that program, once per pod. Absent: launcher."""
    stepLines: NotRequired[Literal["plain", "megatron", "torchtitan", "deepspeed", "hugging-face"]]
    """For command and custom: the format of the step lines in the log. Absent: plain, any line that names a loss, such as `step 10 loss 2.31 lr 1e-4`. Other engines have their own."""
    checkpointFormat: NotRequired[Literal["torch_dist", "dcp", "deepspeed", "hugging-face"]]
    """For command and custom: the format in which the program saves. Absent: the program reports its checkpoints itself."""
    args: NotRequired[list[str]]
    """Appended to the arguments that the engine adapter renders."""
    options: NotRequired[list[EngineOptionInput]]
    """Options of the engine or of your fork by their own names, such as ddp.bucket_size of megatron-bridge or zero_optimization.reduce_bucket_size of deepspeed. What sets a field of layout or training is read into it; what contradicts one is refused; the rest is passed through and not priced."""
    env: NotRequired[list[AskedEngineInputEnvItem]]
    """Plain values: everyone who may read the job can read them. Put tokens and passwords into secretEnv or secretFiles."""


class AskedEngineInputEnvItem(TypedDict):
    name: str
    """Name of the variable."""
    value: str
    """Its value."""


class AskedModelInput(TypedDict):
    preset: NotRequired[str]
    """A model that the planner knows by name, such as llama-3.1-8b: `coxswain presets models` lists them."""
    huggingFace: NotRequired[dict[str, Any]]
    """Content of the config.json of published weights. Unknown architectures are rejected."""
    layers: NotRequired[int]
    """Transformer layers, without multi-token-prediction layers."""
    hiddenSize: NotRequired[int]
    """Width of the residual stream."""
    ffnHiddenSize: NotRequired[int]
    """Inner width of a dense MLP. Absent: four times hiddenSize; 0: no layer has one."""
    attentionHeads: NotRequired[int]
    """Query heads of an attention layer."""
    keyValueHeads: NotRequired[int]
    """Groups of grouped-query attention. Absent: attentionHeads, which is multi-head attention."""
    headDim: NotRequired[int]
    """Width of one head. Absent: hiddenSize / attentionHeads."""
    vocabularySize: NotRequired[int]
    """Number of tokens. Absent: 256, for bytes."""
    gatedMlp: NotRequired[bool]
    """Gated MLP such as SwiGLU: three matrices instead of two. Absent: two."""
    rmsNorm: NotRequired[bool]
    """RMSNorm (one vector) instead of LayerNorm (two). Absent: RMSNorm."""
    linearBias: NotRequired[bool]
    """Linear layers have a bias vector."""
    dropout: NotRequired[bool]
    """Dropout masks are kept for the backward pass."""
    tiedEmbeddings: NotRequired[bool]
    """The output layer has the weights of the input embedding."""
    learnedPositions: NotRequired[int]
    """Rows of a learned position table; 0 for rotary or none."""
    attentionWindow: NotRequired[int]
    """Tokens of a sliding window; 0 for full attention."""
    windowedLayers: NotRequired[int]
    """How many attention layers use the window."""
    attentionSinks: NotRequired[bool]
    """Each head has a learned score that the softmax adds to the scores of the keys (GPT-OSS and similar)."""
    mtpLayers: NotRequired[int]
    """Multi-token-prediction layers after the last layer."""
    experts: NotRequired[AskedModelInputExperts]
    """Mixture of experts. Absent: every layer has a dense MLP."""
    latentAttention: NotRequired[AskedModelInputLatentAttention]
    """Multi-head latent attention (DeepSeek-V2/V3)."""
    stateSpace: NotRequired[AskedModelInputStateSpace]
    """Mamba-2 mixer of the layers marked M."""
    layerPattern: NotRequired[str]
    """One letter per layer for hybrids whose layers hold one block each: A or * attention, L linear attention, M Mamba-2, E experts, - MLP. Absent: every layer is attention followed by an MLP or experts."""
    sequenceLength: NotRequired[int]
    """Tokens per sample."""


class AskedModelInputExperts(TypedDict):
    """Mixture of experts. Absent: every layer has a dense MLP."""
    count: int
    """Routed experts of a layer."""
    topK: int
    """Experts that process each token."""
    ffnHiddenSize: int
    """Inner width of one routed expert."""
    sharedFfnHiddenSize: NotRequired[int]
    """Total inner width of the shared experts, which process every token."""
    denseLayers: NotRequired[int]
    """Leading layers with a dense MLP instead of experts."""
    latentSize: NotRequired[int]
    """Width that tokens are projected to before dispatch; 0: hiddenSize."""


class AskedModelInputLatentAttention(TypedDict):
    """Multi-head latent attention (DeepSeek-V2/V3)."""
    queryRank: int
    """0: queries are not compressed."""
    keyValueRank: int
    """Width of the compressed keys and values."""
    nopeHeadDim: int
    """Width of a head without positions."""
    ropeHeadDim: int
    """Width of a head with rotary positions."""
    valueHeadDim: int
    """Width of the values of a head."""


class AskedModelInputStateSpace(TypedDict):
    """Mamba-2 mixer of the layers marked M."""
    stateSize: int
    """Width of the state of a head."""
    heads: int
    """Heads of the mixer."""
    headDim: int
    """Width of one head of the mixer."""
    groups: int
    """Groups of heads that share their B and C projections."""
    convKernel: NotRequired[int]
    """Length of the convolution before the mixer."""


class AskedTrainingInput(TypedDict):
    steps: NotRequired[int]
    """Steps after which the job is complete. Alternative: tokens."""
    tokens: NotRequired[int]
    """Alternative to steps: as many steps as process this many tokens; a step has globalBatchSize times sequenceLength tokens."""
    globalBatchSize: NotRequired[int]
    """Samples per step over all data-parallel ranks."""
    batchRampUp: NotRequired[BatchRampUpInput]
    """The batch grows to globalBatchSize in the first steps. Predictions are for the full batch. Absent: every step has globalBatchSize."""
    microBatchSize: NotRequired[int]
    """Samples per forward pass of one rank. Absent: 1, or what the planner finds best where it chooses the layout."""
    optimizer: NotRequired[OptimizerSpecInput]
    """Absent: the default of the engine; AdamW for engine reference."""
    schedule: NotRequired[LearningRateScheduleInput]
    """Absent: the default of the engine; cosine for engine reference."""
    learningRate: NotRequired[float]
    """Highest learning rate of the schedule."""
    minLearningRate: NotRequired[float]
    """Learning rate at the end of the schedule."""
    warmupSteps: NotRequired[int]
    """First steps, in which the rate rises from 0."""
    weightDecay: NotRequired[float]
    """Weight decay of the optimizer."""
    seed: NotRequired[int]
    """Seed of all random numbers of the training."""
    precision: NotRequired[Literal["fp32", "bf16"]]
    """Number format of weights and activations in the model. Matrix products in fewer bits: layout.kernel.precision."""
    lora: NotRequired[LoraSpecInput]
    """Absent: all weights are trained."""
    packing: NotRequired[SequencePackingInput]
    """Documents are packed into samples of sequenceLength tokens, and no token attends to another document. Absent: the engine decides, and attention is priced over the whole sample."""


class Attempt(TypedDict):
    epoch: int
    """Number of the attempt, from 1."""
    stage: Literal["Creating", "Released", "Stopping", "Ended"]
    """Creating: pods are made behind their scheduling gate. Released: they start. Stopping: the end is recorded. Ended: every pod is terminal or gone."""
    placement: str
    """Name of the Placement object of this attempt."""
    placementSha256: NotRequired[str]
    """SHA-256 of the canonical spec of that Placement, recorded before it is created; any other Placement is rejected. Absent: started by a release that recorded none."""
    leaderTerm: NotRequired[int]
    """Term of the leader that started it."""
    layout: ParallelLayout
    resumedFrom: NotRequired[AttemptResumedFrom]
    """Checkpoint that its newest incarnation started from. Absent: from scratch."""
    incarnation: NotRequired[int]
    """Incarnation of the ranks in the pods of this attempt. It is recorded before any launcher receives it, and reports of other incarnations are rejected. Absent: the first."""
    incarnations: NotRequired[list[EndedIncarnation]]
    """Earlier incarnations in the same pods, newest last."""
    standbys: NotRequired[int]
    """Standbys of its Placement: pods without ranks, the last ones. Absent: none."""
    standbyGpus: NotRequired[int]
    """GPUs that these standbys request. Absent: none."""
    replacements: NotRequired[list[PodReplacement]]
    """Pods that lost their ranks to standbys, oldest first. Such a pod is out for good: its reports and saves are rejected. Absent: none."""
    lostStandbys: NotRequired[list[AttemptLostStandbysItem]]
    """Standbys that ended, were deleted or are gone before they took a place, oldest first. They take none any more. Absent: none."""
    startedAt: str
    """When the attempt was recorded, before its first pod."""
    releasedAt: NotRequired[str]
    """When every pod existed and the gates were lifted."""
    runningAt: NotRequired[str]
    """When every pod was running; of a later incarnation, when all its ranks had been started."""
    stoppingAt: NotRequired[str]
    """When its end was recorded: a failure seen, a suspend or cancel answered."""
    endedAt: NotRequired[str]
    """When every pod was terminal, gone or fenced."""
    heldByFenced: NotRequired[list[AttemptHeldByFencedItem]]
    """GPUs that its fenced pods hold after endedAt, each number from its time on: a pod on a lost node cannot be deleted. Absent: none."""
    outcome: NotRequired[Literal["Succeeded", "Failed", "Suspended", "Cancelled", "Resized", "Moved"]]
    """How the attempt ended. Absent: it has not ended."""
    reason: NotRequired[Literal["EngineFailed", "DoNotRestart", "NothingTrained", "LauncherFailed", "PodLost", "PodNeverRan", "NodeLost", "Evicted", "LimitExceeded", "TurnedAway", "NotCreated", "NotScheduled", "NotStarted", "SecretMissing", "Condemned", "Hung", "PreflightFailed", "RendezvousPortLost", "CheckpointUnreadable", "CheckpointIoError", "PodsRefused", "PlacementLost", "NameConflict", "NotReaped", "GpusFree", "NodeLeaving", "MadeRoom", "QuotaEvicted", "MaxRuntimeReached", "SuspendRequested", "CancelRequested"]]
    """Why it ended, as a stable name."""
    message: NotRequired[str]
    """For a failure: rank, node, exit code and the last lines of its log."""
    checkpointFaults: NotRequired[list[CheckpointFaultOnNode]]
    """What kept its nodes from loading the checkpoint of resumedFrom."""
    passedOver: NotRequired[list[PassedOverCheckpoint]]
    """Suspect checkpoints that are newer than resumedFrom, newest first. The launcher of rank 0 verifies them before the ranks start. Absent: none."""
    verifiedCheckpoint: NotRequired[str]
    """The one of passedOver that verified. The attempt ended for that, and the next one resumes from it. Absent: none."""
    charged: NotRequired[bool]
    """For a failure: whether it was charged to a budget of restarts."""
    answer: NotRequired[Literal["Restart", "GiveUp"]]
    """For a failure: whether a next attempt follows. Decided once, with the budget at that time."""
    lastStep: NotRequired[int]
    """Newest step that it reported. Absent: none."""
    restoredAt: NotRequired[str]
    """When a rank first reported that it loaded the checkpoint of resumedFrom. Absent: not reported."""
    firstStep: NotRequired[AttemptFirstStep]
    """The first reported step, and its time. Absent: none yet, or recorded by an earlier release."""
    lastStepAt: NotRequired[str]
    """When the operator received the newest step, or wrote progress last; recorded with the end."""
    memorySave: NotRequired[MemorySave]
    """Save in the memory of the pods that it started from, newer than the checkpoint of resumedFrom. Absent: none."""
    clock: NotRequired[RunClock]
    """Marks that launchers and hooks reported, recorded with the first step, with progress and with a failure. Absent: none was reported, or recorded by an earlier release."""
    judgement: NotRequired[FailureJudgement]
    """For a failure: its class, the rule that held, and the resulting action. Absent: recorded by an earlier release."""
    origin: NotRequired[FailureOrigin]
    """For a failure: where it began, and how the process ended. Absent: recorded by an earlier release."""
    preflight: NotRequired[AttemptPreflight]
    """Absent: there was none, or its end was not reported."""
    fingerprint: NotRequired[Fingerprint]
    """Absent: no preflight ran."""
    trained: NotRequired[AttemptTrained]
    """Absent: no hook has reported what is trained."""
    placedWhere: NotRequired[str]
    """Why its ranks sit where they do: racks, islands, bytes per step between them, and which smaller pods would cost less. Absent: one node."""
    saves: NotRequired[str]
    """Number of steps between saves, and the reason in a sentence. Absent: the value of checkpoint.everySteps."""
    pace: NotRequired[AttemptPace]
    """Absent: no step was reported, or recorded by an earlier release."""
    restore: NotRequired[AttemptRestore]
    """How its newest incarnation continued from resumedFrom. Absent: from scratch, nothing is known yet, or recorded by an earlier release."""
    earlySave: NotRequired[EarlySave]
    """The newest early save that was requested. Absent: none."""
    forClaim: NotRequired[ForClaim]
    """For an attempt that made room: the job that gets its nodes. Absent: it made no room."""
    lostWork: NotRequired[LostWork]
    """For an attempt that was suspended, moved or resized: steps that were not saved. Absent: none, or recorded by an earlier release."""
    prediction: NotRequired[AttemptPrediction]
    """Absent: nothing could be predicted."""


class AttemptFirstStep(TypedDict):
    """The first reported step, and its time. Absent: none yet, or recorded by an earlier release."""
    step: int
    """Number of the step."""
    at: str
    """When it was reported."""


class AttemptHeldByFencedItem(TypedDict):
    at: str
    """From this time on."""
    gpus: int
    """GPUs that are held."""


class AttemptLostStandbysItem(TypedDict):
    podIndex: int
    """Index of the standby."""
    at: str
    """When it was recorded."""


class AttemptPace(TypedDict):
    steps: int
    """Steps after the first reported one."""
    inStepsMs: int
    """Time inside these steps, of the slowest rank."""
    betweenStepsMs: int
    """Time between the steps, mostly for saves."""
    saves: int
    """Checkpoints saved at these steps."""


class AttemptPrediction(TypedDict):
    stepMs: float
    """Time of one step."""
    peakBytes: int
    """Largest memory of a rank."""
    gpuType: str
    """GPU that it was predicted for."""
    microBatchSize: int
    """Samples per forward pass of one rank."""
    plannerVersion: str
    """Version of the planner."""


class AttemptPreflight(TypedDict):
    outcome: Literal["Passed", "NodesNamed", "Skipped"]
    """Passed: no node is to blame. NodesNamed: the attempt ended before its first rank and names the nodes to blame. Skipped: a pod could not run the checks, so no node was judged."""
    tookMs: int
    """Of the slowest pod, with waiting for the others."""
    notes: list[str]
    """What is worth knowing and no node’s doing."""


class AttemptRestore(TypedDict):
    lossBefore: NotRequired[float]
    """Last reported loss before the restore. Absent: none was reported."""
    stepBefore: NotRequired[int]
    """Step of lossBefore."""
    lossAfter: NotRequired[float]
    """Loss of the first reported step after the restore."""
    stepAfter: NotRequired[int]
    """Step of lossAfter."""
    notKept: NotRequired[list[str]]
    """What the checkpoint does not restore exactly, or what nothing says, each in a sentence. Empty: nothing. Absent: no step was reported yet, or the object of the checkpoint is gone."""


class AttemptResumedFrom(TypedDict):
    """Checkpoint that its newest incarnation started from. Absent: from scratch."""
    checkpoint: str
    """Name of the Checkpoint."""
    step: int
    """Step at which training went on."""
    path: NotRequired[str]
    """Directory inside the claim. Absent: recorded by an earlier release."""
    manifestSha256: NotRequired[str]
    """Absent: recorded by an earlier release."""
    claimName: NotRequired[str]
    """Claim of an adopted checkpoint. Absent: that of the job."""
    filesSha256: NotRequired[str]
    """SHA-256 of the list of its files. Absent: it has a manifest."""


class AttemptTrained(TypedDict):
    incarnation: int
    """Incarnation of the ranks that was checked."""
    seen: NotRequired[str]
    """What the first rank that reported really trains: process group, mesh, wrappers and sizes, in one sentence."""
    differences: list[str]
    """Each a sentence: what a rank trains, and what the layout asks for. Empty: none was seen."""


class AuditEntry(TypedDict):
    id: int
    at: str
    principalKind: Literal["person", "service", "serviceAccount", "command"] | None
    """null: the principal is unknown, or the entry is of an earlier release."""
    principalId: str | None
    """null: the principal is unknown because the token was invalid."""
    principal: str | None
    """The name of the principal, as it was then."""
    project: str | None
    """null: it was about no project."""
    verb: str
    """What was done, such as job.create; of a denial the right that was missing, or authenticate."""
    object: str
    """What it was done to, such as research/tiny-gpt; of a denial what was asked: a path, or a field of GraphQL."""
    outcome: Literal["allowed", "denied"]
    reason: str | None
    """Of a denial: the code that was answered."""
    requests: int
    """How many requests this stands for: denials of one principal or address and verb are counted together."""
    sourceAddress: str | None
    """null: it was no request, or many addresses."""
    userAgent: str | None
    requestId: str | None
    """The X-Request-Id of the answer; of the first where there were many."""
    detail: dict[str, Any]
    """What else is worth knowing, such as the role of a new token."""


class AuditList(TypedDict):
    items: list[AuditEntry]
    nextPageToken: NotRequired[str]


class BatchRampUp(TypedDict):
    startSize: int
    """Samples of the first step; less than globalBatchSize."""
    increment: int
    """By how many samples the batch grows at a time, up to globalBatchSize exactly."""
    samples: int
    """Samples after which the batch has globalBatchSize. Each size is used for an equal part of them."""


class BatchRampUpInput(TypedDict):
    startSize: int
    """Samples of the first step; less than globalBatchSize."""
    increment: int
    """By how many samples the batch grows at a time, up to globalBatchSize exactly."""
    samples: int
    """Samples after which the batch has globalBatchSize. Each size is used for an equal part of them."""


class CheckpointAdoptInput(TypedDict):
    name: str
    """Name of the Checkpoint. Jobs name it to resume from it."""
    namespace: NotRequired[str]
    """Default: the first namespace of the project."""
    claimName: NotRequired[str]
    """PersistentVolumeClaim that holds it. Absent: it is in the bucket."""
    bucket: NotRequired[CheckpointBucketInput]
    """Bucket and prefix that hold it. Absent: it is in the claim."""
    path: str
    """Directory of one checkpoint inside the claim, or below the prefix, such as run-7/iter_0001000."""
    layout: NotRequired[ParallelLayoutInput]
    """Layout it was saved at. Absent: what its files say."""


class CheckpointBucket(TypedDict):
    uri: str
    """Bucket and prefix, such as s3://training/runs. Each job saves below a prefix of its own."""
    endpoint: NotRequired[str]
    """Server of an S3-compatible store that is not AWS, such as http://minio.storage:9000. Absent: AWS."""
    region: NotRequired[str]
    """Absent: the region of the pod, which AWS sets for a workload identity."""
    credentialsSecret: NotRequired[str]
    """Secret in the namespace of the job, whose name begins with "job-", with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Absent: the workload identity of the service account that the runtime sets."""


class CheckpointBucketInput(TypedDict):
    uri: str
    """Bucket and prefix, such as s3://training/runs. Each job saves below a prefix of its own."""
    endpoint: NotRequired[str]
    """Server of an S3-compatible store that is not AWS, such as http://minio.storage:9000. Absent: AWS."""
    region: NotRequired[str]
    """Absent: the region of the pod, which AWS sets for a workload identity."""
    credentialsSecret: NotRequired[str]
    """Secret in the namespace of the job, whose name begins with "job-", with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Absent: the workload identity of the service account that the runtime sets."""


class CheckpointContents(TypedDict):
    tensors: int
    """Number of tensors."""
    chunks: int
    """Boxes of tensors, each stored as one item."""
    objects: int
    """Anything but tensors, such as the state of a data loader."""
    bytes: int
    """Of the elements of all tensors, and of stored objects."""
    dtypes: dict[str, int]
    """Number of tensors by dtype, as PyTorch calls it."""
    kinds: ContentsByKind
    holds: CheckpointHolds
    """Which states of the training it holds."""
    isResumable: bool
    """Whether training resumes from it with its optimizer. false: it holds weights alone, or nothing says what it holds."""
    geometry: str
    """SHA-256 of names, dtypes, shapes and boxes: checkpoints with the same one are divided alike."""
    format: NotRequired[str]
    """On-disk format. Absent: recorded by an earlier release."""
    step: NotRequired[int]
    """Step that the files name."""
    engineRelease: NotRequired[str]
    """Release of the engine that saved it, as the files name it."""
    optimizerSharding: NotRequired[str]
    """How the state of the optimizer is divided, as its engine calls it, such as fully_reshardable."""
    worldSize: NotRequired[int]
    """Ranks that saved it."""
    degrees: NotRequired[dict[str, int]]
    """Degrees of the layout that saved it, such as tensorParallelDegree."""
    hasUniversal: NotRequired[bool]
    """Whether a universal checkpoint that was made from it lies beside it. Absent: none was found. Only for format deepspeed."""
    tensorGroups: NotRequired[list[TensorGroup]]
    """All of its tensors in groups, by name. Absent: an earlier release recorded it, or they did not fit."""


class CheckpointDetail(TypedDict):
    name: str
    uid: str
    namespace: str
    jobId: str | None
    jobName: str
    """Job that saved it. Empty: an adopted checkpoint."""
    jobUid: str
    """UID of that job. Empty: an adopted checkpoint."""
    epoch: int
    """Attempt that saved it. 0: an adopted checkpoint."""
    incarnation: NotRequired[int]
    """Incarnation that saved it. Absent: the first."""
    step: int
    """Of an adopted checkpoint 0: status.contents has the step that the files name."""
    claimName: str
    """Empty if it is in a bucket: the release before requires the field and then finds no claim."""
    bucket: NotRequired[CheckpointBucket]
    """Absent: it is in the claim."""
    path: str
    """Directory inside the claim, or below the prefix of the bucket."""
    layout: ParallelLayout
    """Layout it was saved at. Of an adopted checkpoint, one rank means that it is not known."""
    format: str
    """On-disk format, e.g. torch_dcp. Empty: an adopted checkpoint."""
    bytes: int
    """Bytes of its files. 0: an adopted checkpoint."""
    files: int
    """Number of its files. 0: an adopted checkpoint."""
    manifestSha256: str
    """SHA-256 of its manifest. Only zeros: it has none."""
    convertedFrom: NotRequired[ConvertedFrom]
    """The save that Coxswain converted to make this one. Its other fields are those of an adopted checkpoint, so that the release before resumes from it only if a user names it. Absent: it was not converted."""
    location: str
    """CLAIM/PATH, or s3://BUCKET/PREFIX/PATH. Empty: an API of the release before answered."""
    state: Literal["Complete", "Damaged", "Unverified"]
    """Complete: the manifest verified when it was saved, or a verification read an adopted checkpoint. Unverified: no verification could read an adopted checkpoint yet, and no job resumes from it. Damaged: two nodes found other content; used again only if a user names it in spec.resumeFrom, and Complete again once ranks have trained from it."""
    isSuspect: bool
    """Whether a Complete one could not be loaded, as the message says; launchers verify it again."""
    message: str | None
    verification: CheckpointVerification | None
    """The closest verification of its bytes. Null: an earlier release recorded it, or no reader knows its format."""
    contents: CheckpointContents | None
    """What its files hold. Null: no reader knows its format."""
    progress: CheckpointProgress | None
    """Loss and tokens at its step. Null: an earlier release recorded it, or nothing reported steps."""
    pin: str | None
    """Why its object is kept whatever the retention; null: it is not pinned."""
    retention: ShownRetention | None
    """What retention decided last. Null: no policy decided about it."""
    isBeingDeleted: bool
    """Whether its files or its object are being deleted. Retention sets the state to Damaged meanwhile."""
    isAbsent: bool
    """Whether a pod did not find its files, although it could read other saves of the claim."""
    createdAt: str
    deletedAt: str | None
    verifications: list[CheckpointVerification]
    """Each verification that the API has seen, newest first, at most 50."""
    tensorGroups: list[TensorGroup] | None
    """All of its tensors in groups, by name. Null: not recorded."""
    loads: CheckpointLoads | None
    """Null: its job is not known, or the planner has still to choose the layout."""
    usedBy: CheckpointUses | None
    """Null: a release before did not record it."""


class CheckpointFaultOnNode(TypedDict):
    node: str
    """Node that found it."""
    kind: Literal["ContentDiffers", "FileUnreadable", "MountBroken"]
    """ContentDiffers: other bytes than were saved. FileUnreadable: the file cannot be read though its mount works. MountBroken: nothing around it can be read."""
    path: str
    """File or directory, as the container sees it; of a long path the end."""
    errno: NotRequired[str]
    """What the system answered, e.g. EIO, ESTALE, ENOENT."""
    expected: NotRequired[str]
    """Size or SHA-256 from the manifest or the Checkpoint."""
    found: NotRequired[str]
    """What was found instead."""


class CheckpointHolds(TypedDict):
    optimizer: NotRequired[bool]
    """Whether it holds the state of the optimizer. Absent: unknown."""
    randomStates: NotRequired[bool]
    """Whether it holds the states of random number generators. Absent: unknown."""
    dataLoader: NotRequired[bool]
    """Whether it holds the position of the data loader. Absent: unknown."""
    scheduler: NotRequired[bool]
    """Whether it holds the state of the learning-rate scheduler. Absent: unknown."""


class CheckpointList(TypedDict):
    items: list[CheckpointRecord]


class CheckpointLoads(TypedDict):
    verdict: Literal["loads as is", "engine reshards", "needs conversion", "cannot"]
    """engine reshards: the engine divides the state anew while it loads."""
    message: str
    """Why, in a sentence."""
    warnings: list[str]
    """What is lost on the way, each as a sentence."""
    isRefused: bool
    """Whether the job would not resume from it at this layout."""


class CheckpointPage(TypedDict):
    items: list[CheckpointRecord]
    nextPageToken: NotRequired[str]
    """Absent on the last page. A page ends at 1 MiB too, so it can have fewer items than were asked for."""


class CheckpointPinInput(TypedDict):
    reason: str
    """Why it is kept, in one line."""


class CheckpointPolicy(TypedDict):
    """Format of checkpoints, and which layouts can load them."""
    format: NotRequired[Literal["torch_dist", "torch_dcp", "fsdp_dtensor", "dcp", "deepspeed", "deepspeed-universal", "bytecheckpoint", "galvatron", "mindspore", "legacy"]]
    """On-disk format of checkpoints. Absent: the default of the engine."""
    optimizerReshard: NotRequired[Literal["none", "data-parallel", "full"]]
    """Which other layouts can load the checkpoint; full: any. It applies to checkpoints saved from now on."""
    asyncSave: NotRequired[bool]
    """Ranks train on while a checkpoint is written. Absent: false."""
    localEverySteps: NotRequired[int]
    """Steps between checkpoints on the disks of the nodes."""
    localReplicas: NotRequired[int]
    """Copies of each checkpoint on the disks of nodes, each on another node."""


class CheckpointPolicyInput(TypedDict):
    """Format of checkpoints, and which layouts can load them."""
    format: NotRequired[Literal["torch_dist", "torch_dcp", "fsdp_dtensor", "dcp", "deepspeed", "deepspeed-universal", "bytecheckpoint", "galvatron", "mindspore", "legacy"]]
    """On-disk format of checkpoints. Absent: the default of the engine."""
    optimizerReshard: NotRequired[Literal["none", "data-parallel", "full"]]
    """Which other layouts can load the checkpoint; full: any. It applies to checkpoints saved from now on."""
    asyncSave: NotRequired[bool]
    """Ranks train on while a checkpoint is written. Absent: false."""
    localEverySteps: NotRequired[int]
    """Steps between checkpoints on the disks of the nodes."""
    localReplicas: NotRequired[int]
    """Copies of each checkpoint on the disks of nodes, each on another node."""


class CheckpointProgress(TypedDict):
    loss: NotRequired[float]
    """Loss at lossStep. Absent: the engine reported none, or it was not finite."""
    lossStep: NotRequired[int]
    """Last step, at or before that of the checkpoint, whose loss was reported."""
    tokens: NotRequired[int]
    """Tokens of all steps up to this one, also of the checkpoints that its job resumed from. Absent: not known."""
    stepsDuringWrite: NotRequired[int]
    """Steps after that of the checkpoint that ranks completed while its files were still being written: the engine saved it in the background. Absent: ranks waited for the write, or it is not known."""
    msDuringWrite: NotRequired[int]
    """How long files of a save in the background were being written, at least, in milliseconds."""


class CheckpointRecord(TypedDict):
    name: str
    uid: str
    namespace: str
    jobId: str | None
    jobName: str
    """Job that saved it. Empty: an adopted checkpoint."""
    jobUid: str
    """UID of that job. Empty: an adopted checkpoint."""
    epoch: int
    """Attempt that saved it. 0: an adopted checkpoint."""
    incarnation: NotRequired[int]
    """Incarnation that saved it. Absent: the first."""
    step: int
    """Of an adopted checkpoint 0: status.contents has the step that the files name."""
    claimName: str
    """Empty if it is in a bucket: the release before requires the field and then finds no claim."""
    bucket: NotRequired[CheckpointBucket]
    """Absent: it is in the claim."""
    path: str
    """Directory inside the claim, or below the prefix of the bucket."""
    layout: ParallelLayout
    """Layout it was saved at. Of an adopted checkpoint, one rank means that it is not known."""
    format: str
    """On-disk format, e.g. torch_dcp. Empty: an adopted checkpoint."""
    bytes: int
    """Bytes of its files. 0: an adopted checkpoint."""
    files: int
    """Number of its files. 0: an adopted checkpoint."""
    manifestSha256: str
    """SHA-256 of its manifest. Only zeros: it has none."""
    convertedFrom: NotRequired[ConvertedFrom]
    """The save that Coxswain converted to make this one. Its other fields are those of an adopted checkpoint, so that the release before resumes from it only if a user names it. Absent: it was not converted."""
    location: str
    """CLAIM/PATH, or s3://BUCKET/PREFIX/PATH. Empty: an API of the release before answered."""
    state: Literal["Complete", "Damaged", "Unverified"]
    """Complete: the manifest verified when it was saved, or a verification read an adopted checkpoint. Unverified: no verification could read an adopted checkpoint yet, and no job resumes from it. Damaged: two nodes found other content; used again only if a user names it in spec.resumeFrom, and Complete again once ranks have trained from it."""
    isSuspect: bool
    """Whether a Complete one could not be loaded, as the message says; launchers verify it again."""
    message: str | None
    verification: CheckpointVerification | None
    """The closest verification of its bytes. Null: an earlier release recorded it, or no reader knows its format."""
    contents: CheckpointContents | None
    """What its files hold. Null: no reader knows its format."""
    progress: CheckpointProgress | None
    """Loss and tokens at its step. Null: an earlier release recorded it, or nothing reported steps."""
    pin: str | None
    """Why its object is kept whatever the retention; null: it is not pinned."""
    retention: ShownRetention | None
    """What retention decided last. Null: no policy decided about it."""
    isBeingDeleted: bool
    """Whether its files or its object are being deleted. Retention sets the state to Damaged meanwhile."""
    isAbsent: bool
    """Whether a pod did not find its files, although it could read other saves of the claim."""
    createdAt: str
    deletedAt: str | None


class CheckpointRetention(TypedDict):
    keepNewestVerified: int
    """Number of the newest verified saves that stay. A save that is newer than one of them stays too."""
    keepEverySteps: NotRequired[int]
    """In each interval of so many steps, the first good save stays. Absent: none stays for that."""
    keepBestByLoss: NotRequired[int]
    """Number of the verified saves with the lowest loss that stay. Absent: none stays for that."""
    whenJobIsDeleted: NotRequired[Literal["Keep", "Delete"]]
    """Keep: the saves stay when the job is deleted. Delete: they are deleted with their Checkpoints, unless they are pinned, in use, or a job of that name exists again. Absent: Keep."""


class CheckpointRetentionInput(TypedDict):
    keepNewestVerified: int
    """Number of the newest verified saves that stay. A save that is newer than one of them stays too."""
    keepEverySteps: NotRequired[int]
    """In each interval of so many steps, the first good save stays. Absent: none stays for that."""
    keepBestByLoss: NotRequired[int]
    """Number of the verified saves with the lowest loss that stay. Absent: none stays for that."""
    whenJobIsDeleted: NotRequired[Literal["Keep", "Delete"]]
    """Keep: the saves stay when the job is deleted. Delete: they are deleted with their Checkpoints, unless they are pinned, in use, or a job of that name exists again. Absent: Keep."""


class CheckpointSpec(TypedDict):
    claimName: NotRequired[str]
    """PersistentVolumeClaim that every node can mount. Exactly one of claimName and bucket is given."""
    bucket: NotRequired[CheckpointBucket]
    """Bucket of an S3-compatible store instead of a claim. The engine saves to a disk of the node, and the launcher uploads each save."""
    path: str
    """Directory inside the claim, or below the prefix of the bucket; each attempt saves into its own directory below it."""
    everySteps: int
    """Steps between two saves."""
    interval: NotRequired[Literal["Steps", "Auto"]]
    """Steps (default): save after every everySteps steps. Auto: each attempt after the first saves at the interval that loses the least time, from the measured save times and failure rate of this job; everySteps applies until a save was measured."""
    memory: NotRequired[MemorySaves]
    """Saves in the memory of the pods, beside the checkpoints. If a rank fails and every pod lives, the ranks restart from the newest one that all of them have. They are lost with their pods, are no Checkpoints, and need an engine that writes them: reference. Absent: none."""
    retention: NotRequired[CheckpointRetention]
    """Which saves stay. It can change at any time, unlike the other fields. Absent: the value of the runtime; if that is absent too, every save stays."""


class CheckpointSpecInput(TypedDict):
    claimName: NotRequired[str]
    """PersistentVolumeClaim that every node can mount. Exactly one of claimName and bucket is given."""
    bucket: NotRequired[CheckpointBucketInput]
    """Bucket of an S3-compatible store instead of a claim. The engine saves to a disk of the node, and the launcher uploads each save."""
    path: NotRequired[str]
    """Directory inside the claim, or below the prefix of the bucket; each attempt saves into its own directory below it."""
    everySteps: NotRequired[int]
    """Steps between two saves."""
    interval: NotRequired[Literal["Steps", "Auto"]]
    """Steps (default): save after every everySteps steps. Auto: each attempt after the first saves at the interval that loses the least time, from the measured save times and failure rate of this job; everySteps applies until a save was measured."""
    memory: NotRequired[MemorySavesInput]
    """Saves in the memory of the pods, beside the checkpoints. If a rank fails and every pod lives, the ranks restart from the newest one that all of them have. They are lost with their pods, are no Checkpoints, and need an engine that writes them: reference. Absent: none."""
    retention: NotRequired[CheckpointRetentionInput]
    """Which saves stay. It can change at any time, unlike the other fields. Absent: the value of the runtime; if that is absent too, every save stays."""


class CheckpointUse(TypedDict):
    jobId: str
    jobName: str
    epoch: int
    """Number of the attempt."""
    startedAt: str


class CheckpointUses(TypedDict):
    total: int
    """Of all such attempts."""
    attempts: list[CheckpointUse]
    """Newest first."""


class CheckpointVerification(TypedDict):
    level: Literal["V0", "V1", "V2", "V3"]
    """V0: the marker and the times of files. V1: the structure, without payload. V2: the envelope of each item. V3: all bytes, against their checksums."""
    verdict: Literal["sound", "damaged", "incomplete", "suspect", "unverifiable"]
    """damaged: the bytes are not what was saved. incomplete: a part is missing. suspect: signs of damage that have another explanation. unverifiable: nothing shows whether the content is right."""
    at: str
    """When the verification ended."""
    by: Literal["Launcher", "Worker"]
    """Launcher: before the save was reported. Worker: a pod, later."""
    node: NotRequired[str]
    """Node that read the bytes."""
    readBytes: int
    """Bytes that the verification read."""
    findings: list[VerificationFinding]
    """The worst first; further ones are left out."""


class CheckpointVerifyInput(TypedDict):
    level: NotRequired[Literal["V0", "V1", "V2", "V3"]]
    """V0: the marker and the times of files. V1: the structure. V2: the envelope of each item. V3: all bytes."""


class CheckpointVerifyRequest(TypedDict):
    level: Literal["V0", "V1", "V2", "V3"]
    requestedAt: str | None
    """A verification by a worker at this time or later, at least as close, answers it. Null: any one does; the annotation names no time."""
    checkpoint: CheckpointRecord


class ClosestPlan(TypedDict):
    """The layout that is closest to fitting. Present if nothing fits."""
    plan: Plan
    exceedsGib: float
    """Missing GPU memory; 0 if only the deadline is missed."""
    relax: list[str]
    """Changes that would make it fit."""


class ClusterFabric(TypedDict):
    isStale: bool
    """The API has had no news of the cluster for a minute; nodes are as last observed."""
    places: list[FabricPlace]
    hardware: list[FabricHardware]
    nodes: FabricNodes
    jobs: list[FabricJob]
    """The newest 2000 that hold GPUs."""
    hasMoreJobs: bool
    """Older jobs may hold GPUs too; those GPUs seem free here."""


class ClusterProfile(TypedDict):
    """Factors on constants of the time model, measured by `coxswain calibrate`."""
    name: str
    """Where and when it was measured; answers that use the profile name it."""
    factors: list[ProfileFactor]


class ClusterProfileInput(TypedDict):
    """Factors on constants of the time model, measured by `coxswain calibrate`."""
    name: str
    """Where and when it was measured; answers that use the profile name it."""
    factors: list[ProfileFactorInput]


class CodeArchive(TypedDict):
    sha256: str
    """SHA-256 of the archive; spec.code.sha256 of a job names it."""
    namespace: str
    """Namespace whose jobs can use it."""
    bytes: int
    """Size of the archive."""
    uploadedAt: str
    """Time of the upload."""
    usedAt: str
    """Time at which a job last named it, or of the upload. An archive that no job names is removed later."""


class CodeSpec(TypedDict):
    sha256: str
    """SHA-256 of the archive in hexadecimal digits. `coxswain submit --workdir` uploads the archive and sets this field."""


class CodeSpecInput(TypedDict):
    sha256: str
    """SHA-256 of the archive in hexadecimal digits. `coxswain submit --workdir` uploads the archive and sets this field."""


class CommunicationPolicy(TypedDict):
    """Overlap, and the network of each kind of group."""
    overlapGradReduce: NotRequired[bool]
    """Gradients are reduced while the backward pass still computes."""
    overlapParamGather: NotRequired[bool]
    """Sharded weights are gathered while earlier layers compute."""
    overlapTensorParallel: NotRequired[bool]
    """Transfers of a tensor-parallel group overlap the matrix products that need them."""
    overlapExpertParallel: NotRequired[bool]
    """The exchange of tokens between experts overlaps computation."""
    overlapPipelineTransfers: NotRequired[bool]
    """Absent: true if the schedule is interleaved."""
    deferEmbeddingGradient: NotRequired[bool]
    """The weight gradient of the embedding is computed while the pipeline drains."""
    switchReduction: NotRequired[bool]
    """Reductions inside the switches (SHARP)."""
    timeoutMinutes: NotRequired[int]
    """Minutes after which the engine gives up a collective. Absent: the default of the engine."""
    groupNetwork: NotRequired[CommunicationPolicyGroupNetwork]
    """Network of each kind of group if islands have different NICs (Holmes). Absent: a network that all ranks of the group have."""


class CommunicationPolicyGroupNetwork(TypedDict):
    """Network of each kind of group if islands have different NICs (Holmes). Absent: a network that all ranks of the group have."""
    tensor: NotRequired[Literal["infiniband", "roce", "socket"]]
    """Network of the tensor-parallel groups."""
    context: NotRequired[Literal["infiniband", "roce", "socket"]]
    """Network of the context-parallel groups."""
    expert: NotRequired[Literal["infiniband", "roce", "socket"]]
    """Network of the expert-parallel groups."""
    data: NotRequired[Literal["infiniband", "roce", "socket"]]
    """Network of the data-parallel groups."""
    pipeline: NotRequired[Literal["infiniband", "roce", "socket"]]
    """Network of the pipeline groups."""


class CommunicationPolicyInput(TypedDict):
    """Overlap, and the network of each kind of group."""
    overlapGradReduce: NotRequired[bool]
    """Gradients are reduced while the backward pass still computes."""
    overlapParamGather: NotRequired[bool]
    """Sharded weights are gathered while earlier layers compute."""
    overlapTensorParallel: NotRequired[bool]
    """Transfers of a tensor-parallel group overlap the matrix products that need them."""
    overlapExpertParallel: NotRequired[bool]
    """The exchange of tokens between experts overlaps computation."""
    overlapPipelineTransfers: NotRequired[bool]
    """Absent: true if the schedule is interleaved."""
    deferEmbeddingGradient: NotRequired[bool]
    """The weight gradient of the embedding is computed while the pipeline drains."""
    switchReduction: NotRequired[bool]
    """Reductions inside the switches (SHARP)."""
    timeoutMinutes: NotRequired[int]
    """Minutes after which the engine gives up a collective. Absent: the default of the engine."""
    groupNetwork: NotRequired[CommunicationPolicyInputGroupNetwork]
    """Network of each kind of group if islands have different NICs (Holmes). Absent: a network that all ranks of the group have."""


class CommunicationPolicyInputGroupNetwork(TypedDict):
    """Network of each kind of group if islands have different NICs (Holmes). Absent: a network that all ranks of the group have."""
    tensor: NotRequired[Literal["infiniband", "roce", "socket"]]
    """Network of the tensor-parallel groups."""
    context: NotRequired[Literal["infiniband", "roce", "socket"]]
    """Network of the context-parallel groups."""
    expert: NotRequired[Literal["infiniband", "roce", "socket"]]
    """Network of the expert-parallel groups."""
    data: NotRequired[Literal["infiniband", "roce", "socket"]]
    """Network of the data-parallel groups."""
    pipeline: NotRequired[Literal["infiniband", "roce", "socket"]]
    """Network of the pipeline groups."""


class Condition(TypedDict):
    type: str
    """Type of the condition, in CamelCase."""
    status: Literal["True", "False", "Unknown"]
    """Whether the condition holds."""
    reason: str
    """Stable name of the fact behind it, for machines."""
    message: str
    """One sentence for people."""
    observedGeneration: int
    """metadata.generation that the condition is about."""
    lastTransitionTime: str
    """When status changed last."""


class ContentsByKind(TypedDict):
    """Tensors by what they are for; kinds without tensors are absent."""
    parameter: NotRequired[KindTotals]
    """Weights of the model."""
    master: NotRequired[KindTotals]
    """Copies in float32 of parameters that train in fewer bits."""
    moment: NotRequired[KindTotals]
    """Running means of the optimizer."""
    other: NotRequired[KindTotals]
    """Tensors of none of these kinds."""


class ConvertedFrom(TypedDict):
    checkpoint: str
    """Its Checkpoint."""
    uid: str
    """UID of that Checkpoint."""
    jobName: str
    """Job that saved it."""
    jobUid: str
    """UID of that job."""
    step: int
    """Step of that save."""
    kind: str
    """How it is converted. DeepSpeedUniversal: the converter of DeepSpeed writes the universal format, which every layout loads."""


class CostList(TypedDict):
    currency: str
    """Of the price list of the administrator."""
    items: list[dict[str, str | float | None]]
    """A row of FOCUS 1.2 for each job that held GPUs in the month, oldest job first."""
    nextPageToken: NotRequired[str]


class DataSpec(TypedDict):
    claimName: NotRequired[str]
    """PersistentVolumeClaim in the namespace of the job; read at /coxswain/data."""
    path: NotRequired[str]
    """File or directory inside the claim."""
    paths: NotRequired[list[WeightedPath]]
    """Several paths instead of path, mixed by their weights."""
    format: NotRequired[Literal["text", "jsonl", "indexed", "hf", "mock"]]
    """text: bytes as they are. jsonl: an object with a text in each line. indexed: tokens as Megatron-LM’s .bin and .idx. hf: a data set of Hugging Face, saved to disk. mock: random tokens. Absent: what the engine reads."""
    split: NotRequired[DataSplit]
    """Proportions, such as 98, 2 and 0. Absent: all data is for training."""
    tokenizer: NotRequired[TokenizerSpec]
    """Tokenizer for data that is text. Absent: the choice of the engine."""


class DataSpecInput(TypedDict):
    claimName: NotRequired[str]
    """PersistentVolumeClaim in the namespace of the job; read at /coxswain/data."""
    path: NotRequired[str]
    """File or directory inside the claim."""
    paths: NotRequired[list[WeightedPathInput]]
    """Several paths instead of path, mixed by their weights."""
    format: NotRequired[Literal["text", "jsonl", "indexed", "hf", "mock"]]
    """text: bytes as they are. jsonl: an object with a text in each line. indexed: tokens as Megatron-LM’s .bin and .idx. hf: a data set of Hugging Face, saved to disk. mock: random tokens. Absent: what the engine reads."""
    split: NotRequired[DataSplitInput]
    """Proportions, such as 98, 2 and 0. Absent: all data is for training."""
    tokenizer: NotRequired[TokenizerSpecInput]
    """Tokenizer for data that is text. Absent: the choice of the engine."""


class DataSplit(TypedDict):
    train: float
    """Share of the data for training."""
    validation: float
    """Share for validation."""
    test: float
    """Share for tests."""


class DataSplitInput(TypedDict):
    train: float
    """Share of the data for training."""
    validation: NotRequired[float]
    """Share for validation."""
    test: NotRequired[float]
    """Share for tests."""


class EarlySave(TypedDict):
    request: int
    """Increases within the attempt; ranks ignore a request that they already received."""
    incarnation: int
    """Incarnation of the ranks that were asked."""
    askedAt: str
    """When the ranks were asked."""
    afterStep: int
    """Newest step that was known at that time."""
    why: str
    """What was observed, in a sentence."""
    suspicions: list[str]
    """Suspicions for which this attempt was asked so far; each asks once."""
    outcome: NotRequired[Literal["Saved", "NotSaved", "RanksEnded"]]
    """Saved: a checkpoint of that step or a later one came. NotSaved: none did in 10 minutes. RanksEnded: they ended before either. Absent: none of these yet."""
    savedStep: NotRequired[int]
    """Step of the checkpoint that came. Absent: none came."""


class EndedIncarnation(TypedDict):
    incarnation: int
    """Its number in the attempt, from 1."""
    runningAt: NotRequired[str]
    """When every one of its ranks had been started. Absent: never."""
    endedAt: str
    """When its failure was recorded."""
    reason: Literal["EngineFailed", "DoNotRestart", "NothingTrained", "LauncherFailed", "PodLost", "PodNeverRan", "NodeLost", "Evicted", "LimitExceeded", "TurnedAway", "NotCreated", "NotScheduled", "NotStarted", "SecretMissing", "Condemned", "Hung", "PreflightFailed", "RendezvousPortLost", "CheckpointUnreadable", "CheckpointIoError", "PodsRefused", "PlacementLost", "NameConflict", "NotReaped", "GpusFree", "NodeLeaving", "MadeRoom", "QuotaEvicted", "MaxRuntimeReached", "SuspendRequested", "CancelRequested"]
    """Why it ended."""
    message: NotRequired[str]
    """Rank, node and how it ended."""
    charged: bool
    """Whether the failure was charged to a budget of restarts."""
    lastStep: NotRequired[int]
    """Newest step that it reported. Absent: none."""
    restoredAt: NotRequired[str]
    """When a rank first reported that it loaded the checkpoint of resumedFrom. Absent: not reported."""
    firstStep: NotRequired[EndedIncarnationFirstStep]
    """The first reported step, and its time. Absent: none yet, or recorded by an earlier release."""
    lastStepAt: NotRequired[str]
    """When the operator received the newest step, or wrote progress last; recorded with the end."""
    memorySave: NotRequired[MemorySave]
    """Save in the memory of the pods that it started from, newer than the checkpoint of resumedFrom. Absent: none."""
    clock: NotRequired[RunClock]
    """Marks that launchers and hooks reported, recorded with the first step, with progress and with a failure. Absent: none was reported, or recorded by an earlier release."""
    resumedFrom: NotRequired[EndedIncarnationResumedFrom]
    """Checkpoint that it started from. Absent: from scratch."""
    judgement: NotRequired[FailureJudgement]
    """Absent: recorded by an earlier release."""
    origin: NotRequired[FailureOrigin]
    """Absent: recorded by an earlier release."""
    lastLines: NotRequired[list[str]]
    """Traceback or last lines of the rank that failed first. Kept for the newest incarnation only."""


class EndedIncarnationFirstStep(TypedDict):
    """The first reported step, and its time. Absent: none yet, or recorded by an earlier release."""
    step: int
    """Number of the step."""
    at: str
    """When it was reported."""


class EndedIncarnationResumedFrom(TypedDict):
    """Checkpoint that it started from. Absent: from scratch."""
    checkpoint: str
    """Name of the Checkpoint."""
    step: int
    """Step at which training went on."""
    path: NotRequired[str]
    """Directory inside the claim. Absent: recorded by an earlier release."""
    manifestSha256: NotRequired[str]
    """Absent: recorded by an earlier release."""
    claimName: NotRequired[str]
    """Claim of an adopted checkpoint. Absent: that of the job."""
    filesSha256: NotRequired[str]
    """SHA-256 of the list of its files. Absent: it has a manifest."""


class Engine(TypedDict):
    name: str
    startsJobs: bool
    """false: layouts for it are checked and planned, and no job can name it."""
    releases: list[str]
    """Those that can be rendered, the newest first; none of a program of your own."""
    startedBy: list[Literal["launcher", "torchrun", "ft_launcher"]]
    """Programs that may start the ranks; the first is the default."""
    needsCommand: bool
    """Whether a job has to give its program."""
    takesRecipe: bool
    """Whether a function of the engine may give a configuration to begin with."""
    abilities: EngineAbilities


class EngineAbilities(TypedDict):
    source: str
    """Where the rest was read."""
    options: list[str]
    """Of a layout, dotted; one with parts stands for all of them."""
    schedules: list[str]
    vocabularies: list[str]
    """Where the vocabulary layers of a pipeline can be."""
    contextAlgorithms: list[str]
    dynamic: list[str]
    """Ways to divide samples of unlike lengths."""
    zeroStages: list[int]
    optimizers: list[str]
    offloads: list[str]
    expertTensor: bool
    dispatchers: list[str]
    balances: list[str]
    attention: list[str]
    precisions: list[str]
    checkpointFormats: list[str]


class EngineList(TypedDict):
    items: list[Engine]


class EngineOption(TypedDict):
    name: str
    """Its name in the engine, with dots between levels."""
    value: str
    """As the engine reads it; true turns a switch on. Lists as JSON."""


class EngineOptionInput(TypedDict):
    name: str
    """Its name in the engine, with dots between levels."""
    value: str
    """As the engine reads it; true turns a switch on. Lists as JSON."""


class EngineRendering(TypedDict):
    engine: str
    program: RenderedProgram | None
    """null where it is refused."""
    refusal: RenderingRefusal | None


class EngineSpec(TypedDict):
    name: Literal["reference", "command", "megatron-lm", "megatron-bridge", "torchtitan", "deepspeed", "hugging-face", "custom"]
    """reference: the PyTorch GPT of this project. megatron-lm, megatron-bridge, torchtitan, deepspeed, hugging-face: that engine. Coxswain translates layout and training options to its arguments. custom: your own program. Its arguments contain placeholders for these options. command: any program, started unchanged."""
    image: NotRequired[str]
    """Container image; it needs glibc, and no Node.js. Absent: that of the runtime."""
    command: NotRequired[list[str]]
    """Program of one rank. Required for command, custom, deepspeed and hugging-face; absent, megatron-lm, megatron-bridge and torchtitan start their own."""
    release: NotRequired[str]
    """Release of the engine in the image, such as core_v0.16.1 of megatron-lm. Absent: the newest that is known (docs/reference/engines.md)."""
    recipe: NotRequired[str]
    """Function of the engine that returns the initial configuration, as module:function (torchtitan, megatron-bridge)."""
    startedBy: NotRequired[Literal["launcher", "torchrun", "ft_launcher"]]
    """Program that starts the ranks. launcher: the Coxswain launcher starts each rank, and reports their ends most precisely. torchrun, ft_launcher: that program, once per pod. Absent: launcher."""
    stepLines: NotRequired[Literal["plain", "megatron", "torchtitan", "deepspeed", "hugging-face"]]
    """For command and custom: the format of the step lines in the log. Absent: plain, any line that names a loss, such as `step 10 loss 2.31 lr 1e-4`. Other engines have their own."""
    checkpointFormat: NotRequired[Literal["torch_dist", "dcp", "deepspeed", "hugging-face"]]
    """For command and custom: the format in which the program saves. Absent: the program reports its checkpoints itself."""
    args: NotRequired[list[str]]
    """Appended to the arguments that the engine adapter renders."""
    options: NotRequired[list[EngineOption]]
    """Options of the engine or of your fork by their own names, such as ddp.bucket_size of megatron-bridge or zero_optimization.reduce_bucket_size of deepspeed. What sets a field of layout or training is read into it; what contradicts one is refused; the rest is passed through and not priced."""
    env: NotRequired[list[EngineSpecEnvItem]]
    """Plain values: everyone who may read the job can read them. Put tokens and passwords into secretEnv or secretFiles."""
    secretEnv: NotRequired[list[EngineSpecSecretEnvItem]]
    """Variables whose values are keys of Secrets."""
    secretFiles: NotRequired[list[EngineSpecSecretFilesItem]]
    """Keys of Secrets as files that can only be read: /coxswain/secrets/SECRET/KEY. A changed Secret changes the file, which a variable does not."""


class EngineSpecEnvItem(TypedDict):
    name: str
    """Name of the variable."""
    value: str
    """Its value."""


class EngineSpecInput(TypedDict):
    name: Literal["reference", "command", "megatron-lm", "megatron-bridge", "torchtitan", "deepspeed", "hugging-face", "custom"]
    """reference: the PyTorch GPT of this project. megatron-lm, megatron-bridge, torchtitan, deepspeed, hugging-face: that engine. Coxswain translates layout and training options to its arguments. custom: your own program. Its arguments contain placeholders for these options. command: any program, started unchanged."""
    image: NotRequired[str]
    """Container image; it needs glibc, and no Node.js. Absent: that of the runtime."""
    command: NotRequired[list[str]]
    """Program of one rank. Required for command, custom, deepspeed and hugging-face; absent, megatron-lm, megatron-bridge and torchtitan start their own."""
    release: NotRequired[str]
    """Release of the engine in the image, such as core_v0.16.1 of megatron-lm. Absent: the newest that is known (docs/reference/engines.md)."""
    recipe: NotRequired[str]
    """Function of the engine that returns the initial configuration, as module:function (torchtitan, megatron-bridge)."""
    startedBy: NotRequired[Literal["launcher", "torchrun", "ft_launcher"]]
    """Program that starts the ranks. launcher: the Coxswain launcher starts each rank, and reports their ends most precisely. torchrun, ft_launcher: that program, once per pod. Absent: launcher."""
    stepLines: NotRequired[Literal["plain", "megatron", "torchtitan", "deepspeed", "hugging-face"]]
    """For command and custom: the format of the step lines in the log. Absent: plain, any line that names a loss, such as `step 10 loss 2.31 lr 1e-4`. Other engines have their own."""
    checkpointFormat: NotRequired[Literal["torch_dist", "dcp", "deepspeed", "hugging-face"]]
    """For command and custom: the format in which the program saves. Absent: the program reports its checkpoints itself."""
    args: NotRequired[list[str]]
    """Appended to the arguments that the engine adapter renders."""
    options: NotRequired[list[EngineOptionInput]]
    """Options of the engine or of your fork by their own names, such as ddp.bucket_size of megatron-bridge or zero_optimization.reduce_bucket_size of deepspeed. What sets a field of layout or training is read into it; what contradicts one is refused; the rest is passed through and not priced."""
    env: NotRequired[list[EngineSpecInputEnvItem]]
    """Plain values: everyone who may read the job can read them. Put tokens and passwords into secretEnv or secretFiles."""
    secretEnv: NotRequired[list[EngineSpecInputSecretEnvItem]]
    """Variables whose values are keys of Secrets."""
    secretFiles: NotRequired[list[EngineSpecInputSecretFilesItem]]
    """Keys of Secrets as files that can only be read: /coxswain/secrets/SECRET/KEY. A changed Secret changes the file, which a variable does not."""


class EngineSpecInputEnvItem(TypedDict):
    name: str
    """Name of the variable."""
    value: str
    """Its value."""


class EngineSpecInputSecretEnvItem(TypedDict):
    name: str
    """Name of the variable."""
    secret: str
    """Secret in the namespace of the job; its name begins with "job-"."""
    key: str
    """Key inside the Secret."""
    optional: NotRequired[bool]
    """true: pods start without it where the Secret or the key is missing. false: they wait for it."""


class EngineSpecInputSecretFilesItem(TypedDict):
    secret: str
    """Secret in the namespace of the job; its name begins with "job-"."""
    key: str
    """Key inside the Secret."""
    optional: NotRequired[bool]
    """true: pods start without it where the Secret or the key is missing. false: they wait for it."""


class EngineSpecSecretEnvItem(TypedDict):
    name: str
    """Name of the variable."""
    secret: str
    """Secret in the namespace of the job; its name begins with "job-"."""
    key: str
    """Key inside the Secret."""
    optional: bool
    """true: pods start without it where the Secret or the key is missing. false: they wait for it."""


class EngineSpecSecretFilesItem(TypedDict):
    secret: str
    """Secret in the namespace of the job; its name begins with "job-"."""
    key: str
    """Key inside the Secret."""
    optional: bool
    """true: pods start without it where the Secret or the key is missing. false: they wait for it."""


class ExpertLayout(TypedDict):
    """How experts are divided over the ranks of one pipeline stage."""
    expertParallelDegree: int
    """Number of parts that the experts of a layer are divided into."""
    expertTensorParallelDegree: NotRequired[int]
    """Ways each expert is split. Absent: tensorParallelDegree, as Megatron-LM does."""
    weightShardDegree: NotRequired[int]
    """Ranks that share one copy of expert weights, gathered before use."""
    dispatcher: NotRequired[Literal["allgather", "alltoall", "alltoall-2d", "deepep", "hybridep", "ncclep"]]
    """How tokens are sent to their experts."""
    capacityFactor: NotRequired[float]
    """Tokens that an expert accepts, relative to an even share; further tokens are dropped. Absent: dropless."""
    padToCapacity: NotRequired[bool]
    """Inputs of each expert are padded to its capacity, so that their sizes are constant."""
    tokenDropOrder: NotRequired[Literal["position", "probability", "random"]]
    """Which tokens are dropped first."""
    overlapDegree: NotRequired[int]
    """Pieces of a layer’s tokens whose exchange and computation overlap (Tutel), or layers fetched ahead (Hecate)."""
    adaptiveDegree: NotRequired[int]
    """r of Tutel: 0 data parallel, 1 expert parallel, more: r-way tensor parallel experts besides. Divides ranks / experts."""
    balance: NotRequired[Literal["none", "aux-loss", "bias", "adaptive-degree", "sparse-materialization"]]
    """How the load of experts is balanced."""
    loadWindowSteps: NotRequired[int]
    """Number of past steps that a placement of experts is computed from."""


class ExpertLayoutInput(TypedDict):
    """How experts are divided over the ranks of one pipeline stage."""
    expertParallelDegree: int
    """Number of parts that the experts of a layer are divided into."""
    expertTensorParallelDegree: NotRequired[int]
    """Ways each expert is split. Absent: tensorParallelDegree, as Megatron-LM does."""
    weightShardDegree: NotRequired[int]
    """Ranks that share one copy of expert weights, gathered before use."""
    dispatcher: NotRequired[Literal["allgather", "alltoall", "alltoall-2d", "deepep", "hybridep", "ncclep"]]
    """How tokens are sent to their experts."""
    capacityFactor: NotRequired[float]
    """Tokens that an expert accepts, relative to an even share; further tokens are dropped. Absent: dropless."""
    padToCapacity: NotRequired[bool]
    """Inputs of each expert are padded to its capacity, so that their sizes are constant."""
    tokenDropOrder: NotRequired[Literal["position", "probability", "random"]]
    """Which tokens are dropped first."""
    overlapDegree: NotRequired[int]
    """Pieces of a layer’s tokens whose exchange and computation overlap (Tutel), or layers fetched ahead (Hecate)."""
    adaptiveDegree: NotRequired[int]
    """r of Tutel: 0 data parallel, 1 expert parallel, more: r-way tensor parallel experts besides. Divides ranks / experts."""
    balance: NotRequired[Literal["none", "aux-loss", "bias", "adaptive-degree", "sparse-materialization"]]
    """How the load of experts is balanced."""
    loadWindowSteps: NotRequired[int]
    """Number of past steps that a placement of experts is computed from."""


class FabricChange(TypedDict):
    kind: Literal["came", "gone", "changed"]
    nodeCount: int
    nodes: list[str]
    """Their names; of many the first 64."""
    facts: list[FabricFactChange]
    """The same for each of these nodes."""


class FabricChangeCounts(TypedDict):
    came: int
    """Nodes that have GPUs and had none, or were not there."""
    gone: int
    changed: int
    """Nodes whose facts changed."""


class FabricChanges(TypedDict):
    before: FabricSnapshot | None
    """Null: there is none before."""
    after: FabricSnapshot
    came: int
    gone: int
    changed: int
    changes: list[FabricChange]
    """Those of most nodes first."""
    hasMore: bool
    """There are more kinds of changes than these 200."""


class FabricFactChange(TypedDict):
    fact: str
    """gpus, island, nvlinkDomain, switches, nicType, ..., or the fact and ReadFrom."""
    before: str | None
    """Null: unknown."""
    after: str | None


class FabricHardware(TypedDict):
    gpuType: str | None
    nicType: str | None
    nicSpeedGbps: float | None
    """Of one NIC."""
    nicCount: int | None
    readFrom: list[FabricSource]
    """Unknown facts are not listed."""


class FabricJob(TypedDict):
    id: str
    project: str | None
    """Null: its namespace belongs to none."""
    name: str
    nodes: list[int]
    """Index of each node that it holds GPUs of, once for each pod."""
    gpus: list[int]
    """How many GPUs each of these pods holds."""


class FabricNodes(TypedDict):
    names: list[str]
    """Sorted."""
    gpus: list[int]
    """Allocatable GPUs."""
    usable: list[bool]
    """Ready, not cordoned, and without a taint that a job does not tolerate."""
    places: list[int]
    """Index of the node’s place."""
    hardware: list[int]
    """Index of the node’s hardware."""
    heldByOthers: NotRequired[list[int] | None]
    """GPUs that pods of others hold. Null: unknown, because the API cannot list the pods of the cluster."""


class FabricPlace(TypedDict):
    island: str
    """NIC fabric that these nodes share."""
    nvlinkDomain: str | None
    """Null: each of these nodes is a domain of its own."""
    switches: list[str]
    """Switches above these nodes, nearest first: leaf, spine, core and beyond. Empty: unknown."""


class FabricSnapshot(TypedDict):
    id: str
    takenAt: str
    """When the fabric was first recorded like this."""
    seenUntil: str
    """Last observation of this state, to within ten minutes. Between it and the next snapshot the fabric changed or was not observed."""
    nodes: int
    """Nodes with GPUs."""
    gpus: int
    islands: int
    nvlinkDomains: int
    """NVLink domains of more than one node."""
    changes: FabricChangeCounts | None
    """Changes since the snapshot before; null: there was none. The counts stay when the earlier snapshot is deleted."""
    unrecordedLooks: int
    """Observations since the snapshot before that found another fabric and were not recorded, because it changed back or changed too often."""


class FabricSnapshotList(TypedDict):
    items: list[FabricSnapshot]
    nextPageToken: NotRequired[str]
    """Absent on the last page."""


class FabricSource(TypedDict):
    fact: str
    """nvlinkDomain, island, switches, nicType, gpuType, ..."""
    key: str
    """Label, DRA attribute or device resource that the fact comes from."""


class FailureBudget(TypedDict):
    blame: Literal["node", "program", "network", "storage", "cluster", "unknown", "environment"]
    """What the crash class of a failure blames."""
    maxRestarts: int
    """Restarts after failures with this blame. One more ends the job."""
    windowSeconds: NotRequired[int]
    """Older failures do not count. Absent: all failures of the job count."""


class FailureBudgetInput(TypedDict):
    blame: Literal["node", "program", "network", "storage", "cluster", "unknown", "environment"]
    """What the crash class of a failure blames."""
    maxRestarts: int
    """Restarts after failures with this blame. One more ends the job."""
    windowSeconds: NotRequired[int]
    """Older failures do not count. Absent: all failures of the job count."""


class FailureExitCodes(TypedDict):
    operator: Literal["In", "NotIn"]
    """In: one of the values. NotIn: none of them, and not 0."""
    values: list[int]
    """Exit codes."""


class FailureExitCodesInput(TypedDict):
    operator: Literal["In", "NotIn"]
    """In: one of the values. NotIn: none of them, and not 0."""
    values: list[int]
    """Exit codes."""


FailureJudgement = TypedDict(
    "FailureJudgement",
    {
        "rule": "str",
        "action": "Literal[\"Restart\", \"RestartInNewPods\", \"RestartElsewhere\", \"Fail\"]",
        "class": "Literal[\"GpuLost\", \"GpuMemoryError\", \"NvlinkError\", \"GpuFault\", \"GpuUnavailable\", \"CudaLibraryFailed\", \"NodeOutOfMemory\", \"NodeUnhealthy\", \"MaintenanceDue\", \"Disrupted\", \"GpuOutOfMemory\", \"HostOutOfMemory\", \"SharedMemoryFull\", \"ScratchFull\", \"DiskFull\", \"StorageError\", \"ObjectStoreFailed\", \"MountMissing\", \"RendezvousFailed\", \"WorldSizeDiffers\", \"NameResolutionFailed\", \"NetworkError\", \"NcclSystemError\", \"LimitReached\", \"TrackerFailed\", \"CertificateInvalid\", \"ClockSkewed\", \"DownloadFailed\", \"AddressInUse\", \"CollectiveTimeout\", \"PeerLost\", \"IllegalMemoryAccess\", \"CudaError\", \"NcclMisused\", \"NcclError\", \"DeviceAssertion\", \"Diverged\", \"CheckpointMismatch\", \"ImportFailed\", \"SyntaxFailed\", \"BadArguments\", \"AssertionFailed\", \"FileMissing\", \"PermissionDenied\", \"AccessDenied\", \"PythonException\", \"StopAsked\", \"NothingTrained\", \"Segfault\", \"BusError\", \"IllegalInstruction\", \"ArithmeticFault\", \"SystemCallDenied\", \"Aborted\", \"Killed\", \"Unknown\"]",
        "blame": "Literal[\"node\", \"program\", \"network\", \"storage\", \"cluster\", \"unknown\", \"environment\"]",
        "budget": "NotRequired[Literal[\"node\", \"program\", \"network\", \"storage\", \"cluster\", \"unknown\", \"environment\"]]",
        "delayMs": "NotRequired[int]",
        "givenUp": "NotRequired[Literal[\"RestartsExhausted\", \"NoProgress\", \"SameTraceback\", \"FailurePolicy\"]]",
        "says": "NotRequired[str]",
    },
)


class FailureOrigin(TypedDict):
    rank: NotRequired[int]
    """Rank that failed first. Absent: no rank is known."""
    pod: NotRequired[str]
    """Pod of that rank."""
    node: NotRequired[str]
    """Node of that pod, whether or not the node is to blame."""
    exitCode: NotRequired[int]
    """Exit code of the process. Absent: unknown, or a signal ended it."""
    signal: NotRequired[str]
    """Signal that ended the process. Absent: none."""


class FailurePolicy(TypedDict):
    rules: NotRequired[list[FailureRule]]
    """Ordered rules; the first match decides. All conditions of a rule must match, and one entry of each list. The rules of the runtime and then the built-in rules follow."""
    budgets: NotRequired[list[FailureBudget]]
    """Failures with this blame are charged to this budget instead of restartPolicy.maxRestarts, including lost nodes."""
    maxCyclesWithoutProgress: NotRequired[int]
    """Consecutive restarts that may make no progress: no new step, no new checkpoint. Absent: 3. Failures of the program and of unknown cause count, others do not."""


class FailurePolicyInput(TypedDict):
    rules: NotRequired[list[FailureRuleInput]]
    """Ordered rules; the first match decides. All conditions of a rule must match, and one entry of each list. The rules of the runtime and then the built-in rules follow."""
    budgets: NotRequired[list[FailureBudgetInput]]
    """Failures with this blame are charged to this budget instead of restartPolicy.maxRestarts, including lost nodes."""
    maxCyclesWithoutProgress: NotRequired[int]
    """Consecutive restarts that may make no progress: no new step, no new checkpoint. Absent: 3. Failures of the program and of unknown cause count, others do not."""


class FailureRule(TypedDict):
    name: str
    """Name of the rule in status and messages."""
    onReasons: NotRequired[list[Literal["EngineFailed", "DoNotRestart", "NothingTrained", "LauncherFailed", "PodLost", "PodNeverRan", "NodeLost", "Evicted", "LimitExceeded", "TurnedAway", "NotCreated", "NotScheduled", "NotStarted", "SecretMissing", "Condemned", "Hung", "PreflightFailed", "RendezvousPortLost", "CheckpointUnreadable", "CheckpointIoError", "PodsRefused", "PlacementLost", "NameConflict", "NotReaped", "GpusFree", "NodeLeaving", "MadeRoom", "QuotaEvicted", "MaxRuntimeReached", "SuspendRequested", "CancelRequested"]]]
    """Reasons of attempts (status.attempts[].reason), such as NodeLost or Condemned. Absent: any but DoNotRestart, NothingTrained, PodsRefused, PlacementLost and NameConflict."""
    onExitCodes: NotRequired[FailureExitCodes]
    """Exit codes of the rank that failed first. Does not match if the code is unknown."""
    onCrashClasses: NotRequired[list[Literal["GpuLost", "GpuMemoryError", "NvlinkError", "GpuFault", "GpuUnavailable", "CudaLibraryFailed", "NodeOutOfMemory", "NodeUnhealthy", "MaintenanceDue", "Disrupted", "GpuOutOfMemory", "HostOutOfMemory", "SharedMemoryFull", "ScratchFull", "DiskFull", "StorageError", "ObjectStoreFailed", "MountMissing", "RendezvousFailed", "WorldSizeDiffers", "NameResolutionFailed", "NetworkError", "NcclSystemError", "LimitReached", "TrackerFailed", "CertificateInvalid", "ClockSkewed", "DownloadFailed", "AddressInUse", "CollectiveTimeout", "PeerLost", "IllegalMemoryAccess", "CudaError", "NcclMisused", "NcclError", "DeviceAssertion", "Diverged", "CheckpointMismatch", "ImportFailed", "SyntaxFailed", "BadArguments", "AssertionFailed", "FileMissing", "PermissionDenied", "AccessDenied", "PythonException", "StopAsked", "NothingTrained", "Segfault", "BusError", "IllegalInstruction", "ArithmeticFault", "SystemCallDenied", "Aborted", "Killed", "Unknown"]]]
    """Crash classes of the failure, determined from XIDs, node conditions, last lines and exit code."""
    onBlames: NotRequired[list[Literal["node", "program", "network", "storage", "cluster", "unknown", "environment"]]]
    """What the crash class blames."""
    onLogPatterns: NotRequired[list[str]]
    """At least one of these patterns matches one of the last 20 lines of the rank that failed first."""
    onNodeConditions: NotRequired[list[str]]
    """At least one of these types of node conditions is True on the node of that rank."""
    action: Literal["Restart", "RestartInNewPods", "RestartElsewhere", "Fail"]
    """Restart: Restart while the budget lasts: in the same pods if restartPolicy.inPlace and the failure allow it, else in new pods. RestartInNewPods: Restart while the budget lasts, always in new pods. RestartElsewhere: Restart in new pods, and avoid the node while others are free. Fail: The job fails at once."""
    charged: NotRequired[bool]
    """false: no budget is charged, except after ten such failures in a row without a step. Absent: depends on the reason."""


class FailureRuleInput(TypedDict):
    name: str
    """Name of the rule in status and messages."""
    onReasons: NotRequired[list[Literal["EngineFailed", "DoNotRestart", "NothingTrained", "LauncherFailed", "PodLost", "PodNeverRan", "NodeLost", "Evicted", "LimitExceeded", "TurnedAway", "NotCreated", "NotScheduled", "NotStarted", "SecretMissing", "Condemned", "Hung", "PreflightFailed", "RendezvousPortLost", "CheckpointUnreadable", "CheckpointIoError", "PodsRefused", "PlacementLost", "NameConflict", "NotReaped", "GpusFree", "NodeLeaving", "MadeRoom", "QuotaEvicted", "MaxRuntimeReached", "SuspendRequested", "CancelRequested"]]]
    """Reasons of attempts (status.attempts[].reason), such as NodeLost or Condemned. Absent: any but DoNotRestart, NothingTrained, PodsRefused, PlacementLost and NameConflict."""
    onExitCodes: NotRequired[FailureExitCodesInput]
    """Exit codes of the rank that failed first. Does not match if the code is unknown."""
    onCrashClasses: NotRequired[list[Literal["GpuLost", "GpuMemoryError", "NvlinkError", "GpuFault", "GpuUnavailable", "CudaLibraryFailed", "NodeOutOfMemory", "NodeUnhealthy", "MaintenanceDue", "Disrupted", "GpuOutOfMemory", "HostOutOfMemory", "SharedMemoryFull", "ScratchFull", "DiskFull", "StorageError", "ObjectStoreFailed", "MountMissing", "RendezvousFailed", "WorldSizeDiffers", "NameResolutionFailed", "NetworkError", "NcclSystemError", "LimitReached", "TrackerFailed", "CertificateInvalid", "ClockSkewed", "DownloadFailed", "AddressInUse", "CollectiveTimeout", "PeerLost", "IllegalMemoryAccess", "CudaError", "NcclMisused", "NcclError", "DeviceAssertion", "Diverged", "CheckpointMismatch", "ImportFailed", "SyntaxFailed", "BadArguments", "AssertionFailed", "FileMissing", "PermissionDenied", "AccessDenied", "PythonException", "StopAsked", "NothingTrained", "Segfault", "BusError", "IllegalInstruction", "ArithmeticFault", "SystemCallDenied", "Aborted", "Killed", "Unknown"]]]
    """Crash classes of the failure, determined from XIDs, node conditions, last lines and exit code."""
    onBlames: NotRequired[list[Literal["node", "program", "network", "storage", "cluster", "unknown", "environment"]]]
    """What the crash class blames."""
    onLogPatterns: NotRequired[list[str]]
    """At least one of these patterns matches one of the last 20 lines of the rank that failed first."""
    onNodeConditions: NotRequired[list[str]]
    """At least one of these types of node conditions is True on the node of that rank."""
    action: Literal["Restart", "RestartInNewPods", "RestartElsewhere", "Fail"]
    """Restart: Restart while the budget lasts: in the same pods if restartPolicy.inPlace and the failure allow it, else in new pods. RestartInNewPods: Restart while the budget lasts, always in new pods. RestartElsewhere: Restart in new pods, and avoid the node while others are free. Fail: The job fails at once."""
    charged: NotRequired[bool]
    """false: no budget is charged, except after ten such failures in a row without a step. Absent: depends on the reason."""


class Fingerprint(TypedDict):
    image: NotRequired[str]
    """As the job or its runtime names it."""
    python: NotRequired[str]
    """Version of Python."""
    torch: NotRequired[str]
    """Version of PyTorch."""
    cuda: NotRequired[str]
    """Version of CUDA."""
    nccl: NotRequired[str]
    """Version of NCCL."""
    driver: NotRequired[str]
    """Of NVIDIA."""
    packagesSha256: NotRequired[str]
    """Of the names and versions of all Python packages of the image."""


class ForClaim(TypedDict):
    name: NotRequired[str]
    """Name of the job that gets the nodes. Absent: it is in another namespace."""
    uid: str
    """UID of the job that gets the nodes."""
    epoch: int
    """Number of the claim: the attempt of that job that the nodes are for."""
    priority: int
    """Priority of that job at the time."""
    wayOut: Literal["Shrink", "Move", "Wait"]
    """Shrink: it goes on with fewer GPUs. Move: it goes on with other nodes at once. Wait: it waits for free GPUs."""
    deadline: str
    """The ranks are killed if they have not saved and stopped by then."""
    returnUntil: NotRequired[str]
    """Until then no other job of its priority or a lower one gets these nodes. Absent: the job that got them has not ended."""


GoodputMonth = TypedDict(
    "GoodputMonth",
    {
        "month": "str",
        "from": "str",
        "to": "str",
        "gpuSeconds": "float",
        "productiveGpuSeconds": "float",
    },
)


class GoodputShare(TypedDict):
    category: Literal["productive", "initialisation", "checkpointRestore", "checkpointSave", "preemption", "wastedProgress", "infrastructureRecovery", "programRecovery", "unexplainedRecovery", "slow", "plannedStop", "standby", "lostNode", "other"]
    gpuSeconds: float
    share: float
    """Of all held GPU-seconds; 0 where none were held."""


GoodputSpan = TypedDict(
    "GoodputSpan",
    {
        "from": "str",
        "to": "str",
        "spent": "Literal[\"productive\", \"initialisation\", \"checkpointRestore\", \"checkpointSave\", \"preemption\", \"wastedProgress\", \"infrastructureRecovery\", \"programRecovery\", \"unexplainedRecovery\", \"slow\", \"plannedStop\", \"standby\", \"lostNode\", \"other\", \"waiting\", \"suspended\"]",
        "gpus": "int",
        "epoch": "int | None",
    },
)


class GpuCounts(TypedDict):
    total: int
    free: int
    """On usable nodes, held by no pod and no placement."""
    types: list[GpuCountsTypesItem]


class GpuCountsTypesItem(TypedDict):
    type: str
    """As labels of nodes spell it; unlabelled: they do not."""
    total: int
    free: int


class GroupRole(TypedDict):
    id: str
    kind: Literal["group", "kubernetesGroup", "serviceAccount"]
    """group: of the issuer, as it writes it in the claim that lists groups; kubernetesGroup: such as system:serviceaccounts:NAMESPACE; serviceAccount: one, as system:serviceaccount:NAMESPACE:NAME."""
    issuer: str | None
    """Identity provider of the group; null: the cluster itself."""
    group: str
    project: str | None
    """null: the cluster."""
    role: Literal["viewer", "submitter", "operator", "admin", "clusterAdmin"]
    createdAt: str


class GroupRoleCreateInput(TypedDict):
    kind: NotRequired[Literal["group", "kubernetesGroup", "serviceAccount"]]
    """group: of the issuer, as it writes it in the claim that lists groups; kubernetesGroup: such as system:serviceaccounts:NAMESPACE; serviceAccount: one, as system:serviceaccount:NAMESPACE:NAME."""
    group: str
    """Name of the group or account."""
    role: Literal["viewer", "submitter", "operator", "admin", "clusterAdmin"]
    """viewer, submitter, operator, admin in a project; clusterAdmin for project "-", the cluster."""


class GroupRoleList(TypedDict):
    items: list[GroupRole]


class IncidentEvidence(TypedDict):
    name: str
    """What was measured or observed."""
    value: str
    """Its value, with its unit."""


class IncidentList(TypedDict):
    items: list[JobIncident]
    nextPageToken: NotRequired[str]
    """Absent on the last page. A page ends at 1 MiB too, so it can have fewer items than were asked for."""


class InitialWeights(TypedDict):
    claimName: str
    """PersistentVolumeClaim in the namespace of the job; read at /coxswain/weights."""
    path: str
    """File or directory inside the claim."""
    format: Literal["safetensors", "dcp", "torch_dist", "torch"]
    """safetensors: as Hugging Face publishes weights. dcp: PyTorch’s distributed checkpoint. torch_dist: Megatron-LM’s. torch: one file of torch.save."""


class InitialWeightsInput(TypedDict):
    claimName: str
    """PersistentVolumeClaim in the namespace of the job; read at /coxswain/weights."""
    path: NotRequired[str]
    """File or directory inside the claim."""
    format: Literal["safetensors", "dcp", "torch_dist", "torch"]
    """safetensors: as Hugging Face publishes weights. dcp: PyTorch’s distributed checkpoint. torch_dist: Megatron-LM’s. torch: one file of torch.save."""


class Job(TypedDict):
    id: str
    project: str | None
    """null: the namespace belongs to no project; administrators only."""
    cluster: str
    namespace: str
    name: str
    labels: dict[str, str]
    """Labels of the TrainingJob ordered by key, without those of Coxswain, at most 64."""
    owner: str | None
    """Name of the creator at that time; null: created in the cluster."""
    uid: str | None
    """UID of the TrainingJob; null until it exists in the cluster."""
    state: Literal["Queued", "Starting", "Running", "Restarting", "Suspending", "Suspended", "Stopping", "Complete", "Failed", "Cancelled", "Submitting", "Refused", "Deleting", "Deleted"]
    """State of the resource; Submitting: not yet in the cluster. Refused: the cluster refused it, see summary."""
    gpus: int
    """GPUs that it runs on, or requests while its layout is not chosen yet."""
    layout: ParallelLayout | None
    """Layout that the job runs on; null until the planner has chosen."""
    stepTime: StepTime | None
    """null before the first attempt that was predicted or measured."""
    summary: str
    applyFailure: ApplyFailure | None
    """Set if the last change (create, suspend, resume, cancel, labels, delete) has not reached the cluster."""
    epoch: int
    restarts: JobRestarts
    totalSteps: int | None
    """Steps of the whole training; null: neither the job nor its ranks define it."""
    progress: JobProgress | None
    checkpoint: JobCheckpoint | None
    version: int
    """Increases with each change of the job or its status."""
    specVersion: int
    """Counts up with each change of what is asked for, wherever it was asked; its status changes nothing here. What If-Match holds a change against."""
    createdAt: str
    updatedAt: str
    finishedAt: str | None
    spec: TrainingJobSpec
    plan: JobPlan | None
    """Answer of the planner; null: it had none."""
    attempts: list[Attempt]
    """Oldest first; the whole history."""
    conditions: list[Condition]
    whyNotTraining: StartVerdict | None
    """Why it does not train yet; null: every rank has started, or the job has ended."""
    jobsBefore: int | None
    """Jobs of its namespace that have waited for GPUs longer. Free GPUs are offered to namespaces in turn, and a job that does not fit blocks none behind it. null: it does not wait for GPUs."""
    lastFailure: JobFailure | None
    """The newest failure: why the job ended, or why it restarted last. null: none."""


class JobCheck(TypedDict):
    verdict: StartVerdict | None
    """Why it would not train at once; null: nothing known is in its way."""
    obstacles: NotRequired[list[JobObstacle]]
    """Everything known that is in its way, what needs a change first. Absent: an API of an earlier release."""
    checked: list[str]
    """What was checked: spec, name, runtime, cluster, objects, quotas, gpus, plan."""
    notChecked: list[JobCheckNotCheckedItem]
    """What is known only after the submit, or could not be asked now."""
    gpusWanted: int
    gpus: GpuCounts | None
    """null: the operator has not counted them."""
    plan: NotRequired[JobPlanPreview | None]
    """Answer of the planner; null: it had none in time. Absent: an API of an earlier release."""


class JobCheckNotCheckedItem(TypedDict):
    what: str
    why: str


class JobCheckpoint(TypedDict):
    name: str
    step: int


class JobCost(TypedDict):
    amount: float
    """Held GPU-hours × the price, without those that lost nodes keep."""
    currency: str
    """Of ISO 4217."""


class JobCreateInput(TypedDict):
    name: str
    namespace: NotRequired[str]
    """Default: the first namespace of the project."""
    labels: NotRequired[dict[str, str]]
    """Labels of the TrainingJob, as Kubernetes spells them."""
    spec: TrainingJobSpecInput


class JobEvent(TypedDict):
    id: int
    type: str
    """Stable name, e.g. Placed, Started, CheckpointSaved, RankFailed, Restarting, Completed."""
    severity: Literal["info", "warning", "error"]
    epoch: int | None
    message: str
    at: str


class JobEventList(TypedDict):
    items: list[JobEvent]


JobFailure = TypedDict(
    "JobFailure",
    {
        "attempt": "str",
        "at": "str",
        "isFinal": "bool",
        "verdict": "str",
        "reason": "str",
        "rank": "int | None",
        "pod": "str | None",
        "node": "str | None",
        "exitCode": "int | None",
        "signal": "str | None",
        "class": "Literal[\"GpuLost\", \"GpuMemoryError\", \"NvlinkError\", \"GpuFault\", \"GpuUnavailable\", \"CudaLibraryFailed\", \"NodeOutOfMemory\", \"NodeUnhealthy\", \"MaintenanceDue\", \"Disrupted\", \"GpuOutOfMemory\", \"HostOutOfMemory\", \"SharedMemoryFull\", \"ScratchFull\", \"DiskFull\", \"StorageError\", \"ObjectStoreFailed\", \"MountMissing\", \"RendezvousFailed\", \"WorldSizeDiffers\", \"NameResolutionFailed\", \"NetworkError\", \"NcclSystemError\", \"LimitReached\", \"TrackerFailed\", \"CertificateInvalid\", \"ClockSkewed\", \"DownloadFailed\", \"AddressInUse\", \"CollectiveTimeout\", \"PeerLost\", \"IllegalMemoryAccess\", \"CudaError\", \"NcclMisused\", \"NcclError\", \"DeviceAssertion\", \"Diverged\", \"CheckpointMismatch\", \"ImportFailed\", \"SyntaxFailed\", \"BadArguments\", \"AssertionFailed\", \"FileMissing\", \"PermissionDenied\", \"AccessDenied\", \"PythonException\", \"StopAsked\", \"NothingTrained\", \"Segfault\", \"BusError\", \"IllegalInstruction\", \"ArithmeticFault\", \"SystemCallDenied\", \"Aborted\", \"Killed\", \"Unknown\"] | None",
        "blame": "Literal[\"node\", \"program\", \"network\", \"storage\", \"cluster\", \"unknown\", \"environment\"] | None",
        "lastLines": "list[str]",
        "answer": "str",
        "nextAttemptAt": "str | None",
        "advice": "str",
    },
)


class JobGoodput(TypedDict):
    asOf: str
    """End of the reported time: the end of the job, or the time of the answer."""
    gpuSeconds: float
    """Held in all; the shares add up to it."""
    goodput: float | None
    """Productive share of the held GPU-seconds. Null: none were held."""
    shares: list[GoodputShare]
    """Every category, in one order."""
    heldSeconds: float
    """Of wall time, with GPUs held."""
    waitingSeconds: float
    """Of wall time, without: waiting for capacity, a plan, or the pause before a restart."""
    suspendedSeconds: float
    """Of wall time, without, since a suspend was answered; with the wait for capacity that follows it."""
    spans: list[GoodputSpan]
    """Oldest first."""
    months: NotRequired[list[GoodputMonth]]
    """Each month in which the job held GPUs, oldest first. Absent: from an earlier release."""
    recoveries: NotRequired[list[JobRecovery]]
    """From failures to the next steps, oldest first. Absent: from an earlier release."""
    restartPhases: NotRequired[list[RestartPhaseTotal]]
    """The time of all restarts, also of those that recoveries leaves out, by phase: every phase, in their order. Parts of the recovery, initialisation and checkpointRestore shares, and no category of their own. Absent: from an earlier release."""
    secondsPerSave: NotRequired[float | None]
    """How long a save stopped the ranks, on average: time between steps at which checkpoints were saved. Null or absent: none was saved between reported steps, or the saves took less than these reports can show."""
    saveStops: NotRequired[list[JobSaveStop]]
    """How long ranks stood still for each of the newest saves, oldest first: at most eight of an incarnation. Absent: from an earlier release."""
    recommendedSaves: NotRequired[RecommendedSaves | None]
    """The interval between saves that costs least; applied only with checkpoint.interval Auto. Null or absent: no save was measured."""
    cost: NotRequired[JobCost | None]
    """What the job cost so far, by the price list of the administrator. Null or absent: there is no list, or it has no price of the GPU."""
    attemptsLeftOut: int
    """Oldest attempts that are not counted, beyond the newest 2000."""


JobIncident = TypedDict(
    "JobIncident",
    {
        "id": "str",
        "kind": "Literal[\"Crash\", \"NodeLost\", \"NodeLeaving\", \"Evicted\", \"StartFailed\", \"CheckpointTrouble\", \"Hang\", \"NetworkHang\", \"Desync\", \"NotTraining\", \"SlowRank\", \"SlowLink\", \"SlowJob\", \"Imbalance\", \"CollectionPauses\", \"DataStall\", \"BadLoss\"]",
        "epoch": "int",
        "incarnation": "int",
        "noticedAt": "str",
        "since": "NotRequired[str]",
        "message": "str",
        "rank": "NotRequired[int]",
        "ranks": "NotRequired[list[int]]",
        "node": "NotRequired[str]",
        "gpu": "NotRequired[int]",
        "class": "NotRequired[Literal[\"GpuLost\", \"GpuMemoryError\", \"NvlinkError\", \"GpuFault\", \"GpuUnavailable\", \"CudaLibraryFailed\", \"NodeOutOfMemory\", \"NodeUnhealthy\", \"MaintenanceDue\", \"Disrupted\", \"GpuOutOfMemory\", \"HostOutOfMemory\", \"SharedMemoryFull\", \"ScratchFull\", \"DiskFull\", \"StorageError\", \"ObjectStoreFailed\", \"MountMissing\", \"RendezvousFailed\", \"WorldSizeDiffers\", \"NameResolutionFailed\", \"NetworkError\", \"NcclSystemError\", \"LimitReached\", \"TrackerFailed\", \"CertificateInvalid\", \"ClockSkewed\", \"DownloadFailed\", \"AddressInUse\", \"CollectiveTimeout\", \"PeerLost\", \"IllegalMemoryAccess\", \"CudaError\", \"NcclMisused\", \"NcclError\", \"DeviceAssertion\", \"Diverged\", \"CheckpointMismatch\", \"ImportFailed\", \"SyntaxFailed\", \"BadArguments\", \"AssertionFailed\", \"FileMissing\", \"PermissionDenied\", \"AccessDenied\", \"PythonException\", \"StopAsked\", \"NothingTrained\", \"Segfault\", \"BusError\", \"IllegalInstruction\", \"ArithmeticFault\", \"SystemCallDenied\", \"Aborted\", \"Killed\", \"Unknown\"]]",
        "blame": "NotRequired[Literal[\"node\", \"program\", \"network\", \"storage\", \"cluster\", \"unknown\", \"environment\"]]",
        "evidence": "NotRequired[list[IncidentEvidence]]",
        "operations": "NotRequired[list[RankOperation]]",
        "gpus": "int",
        "step": "NotRequired[int]",
        "stepMs": "NotRequired[float]",
        "costMsPerStep": "NotRequired[float]",
        "action": "Literal[\"None\", \"Advised\", \"RestartedInPods\", \"RestartedInNewPods\", \"RestartedElsewhere\", \"Moved\", \"GaveUp\"]",
        "outcome": "NotRequired[Literal[\"Recovered\", \"Passed\", \"FailedAgain\", \"RunEnded\", \"Stopped\", \"GivenUp\"]]",
        "closedAt": "NotRequired[str]",
        "redoneSteps": "NotRequired[int]",
        "lostMs": "NotRequired[int]",
        "jobId": "str",
        "job": "str",
        "project": "str | None",
    },
)


class JobLink(TypedDict):
    title: str
    """Words of the link."""
    template: str
    """Address with {project}, {namespace}, {job}, {uid} and {attempt} to be replaced."""


class JobList(TypedDict):
    items: list[JobSummary]
    nextPageToken: NotRequired[str]
    """Absent on the last page. A page ends at 1 MiB too, so it can have fewer items than were asked for."""


class JobObstacle(TypedDict):
    reason: str
    """Stable name, as in `StartVerdict`."""
    field: str
    """What of the request it is about: `spec.gpus`, `name`."""
    value: str | None
    """The value of the field; null: it has none, or it is not repeated."""
    rule: str
    """Why the job cannot start with this value."""
    change: str | None
    """The smallest change that helps; null: none is needed."""
    effect: Literal["NeedsChange", "Waits", "MayFail"]
    """NeedsChange: the job never starts as things are. Waits: it starts by itself once other jobs end, or on fewer GPUs if minGpus allows it. MayFail: it starts, and the planner predicts that it fails."""


class JobPatchInput(TypedDict):
    labels: dict[str, str | None]
    """A merge patch (RFC 7396): null removes a label, what is not named stays."""


class JobPlan(TypedDict):
    chosenBy: Literal["Planner", "User"]
    """Planner: spec.gpus asked for a layout. User: spec.layout is predicted."""
    gpus: int
    """GPUs that the layout is for."""
    runtime: NotRequired[str]
    """Whose nodes it was made for, such as "ClusterTrainingRuntime efa". Absent: the job named none."""
    fabric: str
    """Facts of the cluster that the planner used."""
    layout: NotRequired[ParallelLayout]
    """Layout that the job runs on. Absent: rejected."""
    microBatchSize: NotRequired[int]
    """Samples per forward pass of one rank."""
    predictedStepMs: NotRequired[float]
    """Predicted time of one step, in milliseconds."""
    predictedStepLowMs: NotRequired[float]
    """With predictedStepHighMs the 80 % interval of the step time, from errors on published runs that were left out of the fit."""
    predictedStepHighMs: NotRequired[float]
    """Upper end of that interval."""
    predictedPeakBytes: NotRequired[int]
    """Predicted largest memory of a rank."""
    gpuType: NotRequired[str]
    """GPU that it was predicted for."""
    stageGpus: NotRequired[list[JobPlanStageGpusItem]]
    """For which type of GPU consecutive stages of the layout are cut, where it is for several. Absent: all are of one."""
    whyStages: NotRequired[str]
    """Which stages are in which island, and why they have the layers that they have, where the layout is for several islands."""
    verdict: NotRequired[Literal["fits", "tight", "doesNotFit"]]
    """Whether predictedPeakBytes fits the GPU."""
    runnersUp: NotRequired[list[JobPlanRunnersUpItem]]
    """The next best, best first."""
    sizes: NotRequired[list[JobPlanSizesItem]]
    """Numbers of GPUs on which a job with minGpus can run, most first, as the planner found them when it planned for spec.gpus. Other numbers are tried when they are needed. Absent: the job states no minGpus, or they are not known."""
    errorStatement: NotRequired[str]
    """Measured error of such predictions."""
    refusal: NotRequired[str]
    """Why no layout fits, in one sentence."""
    forEpoch: NotRequired[int]
    """First attempt that uses it, if it is for fewer GPUs than spec.gpus. Absent: it is for all GPUs."""
    noLayoutFor: NotRequired[int]
    """Fewest GPUs for which the planner has since found no layout. Absent: none."""
    plannerVersion: str
    """Version of the planner."""
    plannedAt: str
    """When the planner answered."""


class JobPlanPreview(TypedDict):
    chosenBy: Literal["Planner", "User"]
    """Planner: spec.gpus asked for a layout. User: spec.layout is predicted."""
    gpus: int
    """GPUs that the layout is for."""
    runtime: NotRequired[str]
    """Whose nodes it was made for, such as "ClusterTrainingRuntime efa". Absent: the job named none."""
    fabric: str
    """Facts of the cluster that the planner used."""
    layout: NotRequired[ParallelLayout]
    """Layout that the job runs on. Absent: rejected."""
    microBatchSize: NotRequired[int]
    """Samples per forward pass of one rank."""
    predictedStepMs: NotRequired[float]
    """Predicted time of one step, in milliseconds."""
    predictedStepLowMs: NotRequired[float]
    """With predictedStepHighMs the 80 % interval of the step time, from errors on published runs that were left out of the fit."""
    predictedStepHighMs: NotRequired[float]
    """Upper end of that interval."""
    predictedPeakBytes: NotRequired[int]
    """Predicted largest memory of a rank."""
    gpuType: NotRequired[str]
    """GPU that it was predicted for."""
    stageGpus: NotRequired[list[JobPlanPreviewStageGpusItem]]
    """For which type of GPU consecutive stages of the layout are cut, where it is for several. Absent: all are of one."""
    whyStages: NotRequired[str]
    """Which stages are in which island, and why they have the layers that they have, where the layout is for several islands."""
    verdict: NotRequired[Literal["fits", "tight", "doesNotFit"]]
    """Whether predictedPeakBytes fits the GPU."""
    runnersUp: NotRequired[list[JobPlanPreviewRunnersUpItem]]
    """The next best, best first."""
    sizes: NotRequired[list[JobPlanPreviewSizesItem]]
    """Numbers of GPUs on which a job with minGpus can run, most first, as the planner found them when it planned for spec.gpus. Other numbers are tried when they are needed. Absent: the job states no minGpus, or they are not known."""
    errorStatement: NotRequired[str]
    """Measured error of such predictions."""
    refusal: NotRequired[str]
    """Why no layout fits, in one sentence."""
    forEpoch: NotRequired[int]
    """First attempt that uses it, if it is for fewer GPUs than spec.gpus. Absent: it is for all GPUs."""
    noLayoutFor: NotRequired[int]
    """Fewest GPUs for which the planner has since found no layout. Absent: none."""
    plannerVersion: str
    """Version of the planner."""


class JobPlanPreviewRunnersUpItem(TypedDict):
    layout: str
    """The layout in short, such as tp4 x pp2 x dp8."""
    microBatchSize: int
    """Samples per forward pass of one rank."""
    predictedStepMs: float
    """Predicted time of one step, in milliseconds."""
    predictedPeakBytes: int
    """Predicted largest memory of a rank."""


class JobPlanPreviewSizesItem(TypedDict):
    gpus: int
    """Number of GPUs."""
    layout: str
    """The fastest layout on them in short, such as tp4 x pp2 x dp8."""
    predictedStepMs: float
    """Predicted time of one step, in milliseconds."""


class JobPlanPreviewStageGpusItem(TypedDict):
    stages: int
    """Number of consecutive stages."""
    gpuType: str
    """GPU that they are cut for."""


class JobPlanRunnersUpItem(TypedDict):
    layout: str
    """The layout in short, such as tp4 x pp2 x dp8."""
    microBatchSize: int
    """Samples per forward pass of one rank."""
    predictedStepMs: float
    """Predicted time of one step, in milliseconds."""
    predictedPeakBytes: int
    """Predicted largest memory of a rank."""


class JobPlanSizesItem(TypedDict):
    gpus: int
    """Number of GPUs."""
    layout: str
    """The fastest layout on them in short, such as tp4 x pp2 x dp8."""
    predictedStepMs: float
    """Predicted time of one step, in milliseconds."""


class JobPlanStageGpusItem(TypedDict):
    stages: int
    """Number of consecutive stages."""
    gpuType: str
    """GPU that they are cut for."""


class JobProgress(TypedDict):
    step: int
    totalSteps: int | None
    loss: float | None
    tokensPerSecond: float | None
    etaSeconds: int | None
    reportedAt: str


class JobRecovery(TypedDict):
    epoch: int
    """Attempt that took the place of the failed ranks."""
    incarnation: int
    """Incarnation of that attempt."""
    failedAt: str
    """When the failure was recorded and the restart decided."""
    resumedFromStep: int
    """0: from scratch."""
    lastStep: int | None
    """Of the ranks that failed. Null: they took none."""
    phases: list[RestartPhaseTime]
    """Every phase, in their order. The known ones add up to the total."""
    total: float | None
    """Seconds from the last step before the failure to the first new step; if there was no step before, from the failure. Null: there was no new step."""


class JobRendering(TypedDict):
    engine: str
    program: RenderedProgram | None
    """null where it is refused."""
    refusal: RenderingRefusal | None
    epoch: int | None
    """Attempt whose placement it uses; null: not placed yet, rendered as it would start."""
    layout: ParallelLayout | None
    """null until the planner has chosen."""


class JobRestarts(TypedDict):
    total: int
    charged: int


JobResumeInput = TypedDict(
    "JobResumeInput",
    {
        "layout": "NotRequired[ParallelLayoutInput]",
        "gpus": "NotRequired[int]",
        "from": "NotRequired[str]",
    },
)


class JobSaveStop(TypedDict):
    epoch: int
    """Attempt that saved."""
    incarnation: int
    """Incarnation of that attempt."""
    step: int
    """Step of the save."""
    seconds: float
    """How much longer the step after the save took than steps without a save."""


class JobStacks(TypedDict):
    takenAt: str
    epoch: int
    rankCount: int
    """Ranks that were asked."""
    groups: list[StackGroup]
    """Equal stacks together: first threads of programs, then others; of each the most frequent first."""
    silent: list[SilentRanks]
    """Ranks without a stack, and why."""
    leftOut: str
    """Ranks whose stacks are incomplete because the answer would be too long. To read one of them, request that rank alone. Empty: none."""


class JobStart(TypedDict):
    asOf: str
    place: QueueJob | None
    """Null: the job does not wait for GPUs."""
    waitingJobs: int
    """Of the whole cluster."""
    problem: str | None
    """Why no start is predicted. Null: one is, or the job does not wait."""
    changes: list[StartChange]


class JobSummary(TypedDict):
    id: str
    project: str | None
    """null: the namespace belongs to no project; administrators only."""
    cluster: str
    namespace: str
    name: str
    labels: dict[str, str]
    """Labels of the TrainingJob ordered by key, without those of Coxswain, at most 64."""
    owner: str | None
    """Name of the creator at that time; null: created in the cluster."""
    uid: str | None
    """UID of the TrainingJob; null until it exists in the cluster."""
    state: Literal["Queued", "Starting", "Running", "Restarting", "Suspending", "Suspended", "Stopping", "Complete", "Failed", "Cancelled", "Submitting", "Refused", "Deleting", "Deleted"]
    """State of the resource; Submitting: not yet in the cluster. Refused: the cluster refused it, see summary."""
    gpus: int
    """GPUs that it runs on, or requests while its layout is not chosen yet."""
    layout: ParallelLayout | None
    """Layout that the job runs on; null until the planner has chosen."""
    stepTime: StepTime | None
    """null before the first attempt that was predicted or measured."""
    summary: str
    applyFailure: ApplyFailure | None
    """Set if the last change (create, suspend, resume, cancel, labels, delete) has not reached the cluster."""
    epoch: int
    restarts: JobSummaryRestarts
    totalSteps: int | None
    """Steps of the whole training; null: neither the job nor its ranks define it."""
    progress: JobSummaryProgress | None
    checkpoint: JobSummaryCheckpoint | None
    version: int
    """Increases with each change of the job or its status."""
    specVersion: int
    """Counts up with each change of what is asked for, wherever it was asked; its status changes nothing here. What If-Match holds a change against."""
    createdAt: str
    updatedAt: str
    finishedAt: str | None
    spec: NotRequired[TrainingJobSpec]
    plan: NotRequired[JobPlan | None]
    """Answer of the planner; null: it had none."""
    attempts: NotRequired[list[Attempt]]
    """Oldest first; the whole history."""
    conditions: NotRequired[list[Condition]]


class JobSummaryCheckpoint(TypedDict):
    name: str
    step: int


class JobSummaryProgress(TypedDict):
    step: int
    totalSteps: int | None
    loss: float | None
    tokensPerSecond: float | None
    etaSeconds: int | None
    reportedAt: str


class JobSummaryRestarts(TypedDict):
    total: int
    charged: int


class KernelPolicy(TypedDict):
    """Kernels and number formats."""
    attention: NotRequired[Literal["auto", "flash", "fused", "flex", "unfused", "local"]]
    """Implementation of attention. Absent: the choice of the engine."""
    attentionMask: NotRequired[Literal["causal", "full", "sliding", "document"]]
    """Absent: causal."""
    softmax: NotRequired[Literal["vanilla", "off-by-one", "learnable"]]
    """Absent: vanilla."""
    precision: NotRequired[Literal["fp32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"]]
    """Of matrix products. Absent: bf16."""
    cudaGraphs: NotRequired[Literal["none", "partial", "full"]]
    """Absent: none."""
    deterministic: NotRequired[bool]
    """Only kernels that give the same result in every run. Absent: false."""
    scaling: NotRequired[Literal["current", "delayed"]]
    """Of fp8: scales from the present values, or from those of earlier steps. Absent: current."""
    fusedLoss: NotRequired[bool]
    """Cross-entropy as one kernel. Absent: false."""
    compile: NotRequired[bool]
    """torch.compile. Absent: only where another option needs it."""


class KernelPolicyInput(TypedDict):
    """Kernels and number formats."""
    attention: NotRequired[Literal["auto", "flash", "fused", "flex", "unfused", "local"]]
    """Implementation of attention. Absent: the choice of the engine."""
    attentionMask: NotRequired[Literal["causal", "full", "sliding", "document"]]
    """Absent: causal."""
    softmax: NotRequired[Literal["vanilla", "off-by-one", "learnable"]]
    """Absent: vanilla."""
    precision: NotRequired[Literal["fp32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"]]
    """Of matrix products. Absent: bf16."""
    cudaGraphs: NotRequired[Literal["none", "partial", "full"]]
    """Absent: none."""
    deterministic: NotRequired[bool]
    """Only kernels that give the same result in every run. Absent: false."""
    scaling: NotRequired[Literal["current", "delayed"]]
    """Of fp8: scales from the present values, or from those of earlier steps. Absent: current."""
    fusedLoss: NotRequired[bool]
    """Cross-entropy as one kernel. Absent: false."""
    compile: NotRequired[bool]
    """torch.compile. Absent: only where another option needs it."""


class KindTotals(TypedDict):
    tensors: int
    """Number of tensors."""
    bytes: int
    """Of the elements."""


class LayerOverride(TypedDict):
    """Layers that are divided differently from the others."""
    part: NotRequired[Literal["layers", "embedding", "output"]]
    """Absent: layers."""
    firstLayer: NotRequired[int]
    """First layer of the run, counted from 0."""
    lastLayer: NotRequired[int]
    """Last layer of the run, itself included."""
    tensorParallelDegree: NotRequired[int]
    """For these layers. Absent: the value of the layout."""
    tensorRanks: NotRequired[Literal["consecutive", "strided"]]
    """Which ranks form a tensor group. Absent: consecutive."""
    contextParallelDegree: NotRequired[int]
    """For these layers. Absent: the value of the layout."""
    expertParallelDegree: NotRequired[int]
    """For these layers. Absent: the value of the layout."""
    expertTensorParallelDegree: NotRequired[int]
    """For these layers. Absent: the value of the layout."""
    zeroStage: NotRequired[int]
    """For these layers. Absent: the value of the layout."""
    recompute: NotRequired[bool]
    """Activations of these layers are recomputed in the backward pass. Absent: as in the layout."""
    sequence: NotRequired[Literal["megatron", "ulysses"]]
    """How tokens are split in addition to contextParallelDegree."""


class LayerOverrideInput(TypedDict):
    """Layers that are divided differently from the others."""
    part: NotRequired[Literal["layers", "embedding", "output"]]
    """Absent: layers."""
    firstLayer: NotRequired[int]
    """First layer of the run, counted from 0."""
    lastLayer: NotRequired[int]
    """Last layer of the run, itself included."""
    tensorParallelDegree: NotRequired[int]
    """For these layers. Absent: the value of the layout."""
    tensorRanks: NotRequired[Literal["consecutive", "strided"]]
    """Which ranks form a tensor group. Absent: consecutive."""
    contextParallelDegree: NotRequired[int]
    """For these layers. Absent: the value of the layout."""
    expertParallelDegree: NotRequired[int]
    """For these layers. Absent: the value of the layout."""
    expertTensorParallelDegree: NotRequired[int]
    """For these layers. Absent: the value of the layout."""
    zeroStage: NotRequired[int]
    """For these layers. Absent: the value of the layout."""
    recompute: NotRequired[bool]
    """Activations of these layers are recomputed in the backward pass. Absent: as in the layout."""
    sequence: NotRequired[Literal["megatron", "ulysses"]]
    """How tokens are split in addition to contextParallelDegree."""


class LayoutCreateInput(TypedDict):
    name: NotRequired[str]
    layout: ParallelLayoutInput


class LayoutList(TypedDict):
    items: list[StoredLayout]


class LearningRateSchedule(TypedDict):
    name: Literal["cosine", "linear", "constant", "wsd"]
    """From learningRate, after warmupSteps, to minLearningRate at the last step: by half a cosine, by a line, not at all, or (wsd) held and then by a line over decaySteps."""
    decayStyle: NotRequired[Literal["linear", "cosine", "exponential", "sqrt"]]
    """Of wsd: how the rate falls; sqrt is 1 - sqrt. Absent: linear."""
    decaySteps: NotRequired[int]
    """Of wsd: how many of the last steps decay."""


class LearningRateScheduleInput(TypedDict):
    name: Literal["cosine", "linear", "constant", "wsd"]
    """From learningRate, after warmupSteps, to minLearningRate at the last step: by half a cosine, by a line, not at all, or (wsd) held and then by a line over decaySteps."""
    decayStyle: NotRequired[Literal["linear", "cosine", "exponential", "sqrt"]]
    """Of wsd: how the rate falls; sqrt is 1 - sqrt. Absent: linear."""
    decaySteps: NotRequired[int]
    """Of wsd: how many of the last steps decay."""


class LoraSpec(TypedDict):
    """Low-rank adapters (LoRA): weights are frozen, adapters are trained."""
    rank: int
    """Inner width of each adapter."""
    alpha: NotRequired[float]
    """Outputs of adapters are scaled by alpha / rank. Absent: twice the rank."""
    dropout: NotRequired[float]
    """Dropout before each adapter. Absent: 0."""
    targets: NotRequired[list[Literal["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]]]
    """Linear layers with an adapter. Absent: all of attention and MLP."""


class LoraSpecInput(TypedDict):
    """Low-rank adapters (LoRA): weights are frozen, adapters are trained."""
    rank: int
    """Inner width of each adapter."""
    alpha: NotRequired[float]
    """Outputs of adapters are scaled by alpha / rank. Absent: twice the rank."""
    dropout: NotRequired[float]
    """Dropout before each adapter. Absent: 0."""
    targets: NotRequired[list[Literal["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]]]
    """Linear layers with an adapter. Absent: all of attention and MLP."""


class LostWork(TypedDict):
    steps: int
    """Steps after the newest checkpoint that can be used."""
    savedStep: NotRequired[int]
    """Step of that checkpoint. Absent: there is none."""
    why: str
    """Why they were not saved, in one or two sentences."""


class MeasuredPrediction(TypedDict):
    jobId: str
    project: str | None
    name: str
    engine: str
    gpuType: str
    gpus: int
    epoch: int
    layout: ParallelLayout
    microBatchSize: int
    predictedMs: float
    measuredMs: float
    measuredSteps: int
    errorPct: float
    plannerVersion: str
    startedAt: str


class MemoryInterval(TypedDict):
    """Interval of the peak of memory, from the errors of predictions on published peaks. It contains the prediction."""
    lowGib: float
    highGib: float
    coveragePct: float
    """Share of such peaks between lowGib and highGib, in percent."""
    standsOn: Literal["chip", "engineFamily", "pytorchEngines", "allEngines", "otherSources"]
    """As for the step time. No constant of memory was fitted, so no rows are left out."""
    rows: int
    """Number of these rows."""


class MemoryPart(TypedDict):
    part: str
    """What the memory holds."""
    gib: float


class MemoryPolicy(TypedDict):
    """What is recomputed or offloaded to save GPU memory."""
    recompute: NotRequired[MemoryPolicyRecompute]
    """Activations that are recomputed in the backward pass. Absent: the default of the engine."""
    offload: NotRequired[list[OffloadRule]]
    """What is kept outside GPU memory between its uses. Absent: nothing."""
    hostMemoryGibPerGpu: NotRequired[float]
    """Host memory that offloading may use."""
    roundingBuffers: NotRequired[int]
    """Activation buffers that layers use in turn (MEMO)."""


class MemoryPolicyInput(TypedDict):
    """What is recomputed or offloaded to save GPU memory."""
    recompute: NotRequired[MemoryPolicyInputRecompute]
    """Activations that are recomputed in the backward pass. Absent: the default of the engine."""
    offload: NotRequired[list[OffloadRuleInput]]
    """What is kept outside GPU memory between its uses. Absent: nothing."""
    hostMemoryGibPerGpu: NotRequired[float]
    """Host memory that offloading may use."""
    roundingBuffers: NotRequired[int]
    """Activation buffers that layers use in turn (MEMO)."""


class MemoryPolicyInputRecompute(TypedDict):
    """Activations that are recomputed in the backward pass. Absent: the default of the engine."""
    mode: Literal["none", "selective", "full", "budget"]
    """none: all activations are kept. selective: those of some modules are recomputed. full: those of whole layers. budget: as many as the budget requires."""
    modules: NotRequired[list[Literal["core_attn", "layernorm", "mlp", "mla_up_proj", "moe", "moe_act", "shared_experts", "mamba"]]]
    """Of selective. Absent: core_attn."""
    method: NotRequired[Literal["uniform", "block"]]
    """Of full."""
    layers: NotRequired[int]
    """Of full: layers per unit (uniform) or per chunk (block)."""
    budget: NotRequired[float]
    """Of budget: share of activations that may be kept."""


class MemoryPolicyRecompute(TypedDict):
    """Activations that are recomputed in the backward pass. Absent: the default of the engine."""
    mode: Literal["none", "selective", "full", "budget"]
    """none: all activations are kept. selective: those of some modules are recomputed. full: those of whole layers. budget: as many as the budget requires."""
    modules: NotRequired[list[Literal["core_attn", "layernorm", "mlp", "mla_up_proj", "moe", "moe_act", "shared_experts", "mamba"]]]
    """Of selective. Absent: core_attn."""
    method: NotRequired[Literal["uniform", "block"]]
    """Of full."""
    layers: NotRequired[int]
    """Of full: layers per unit (uniform) or per chunk (block)."""
    budget: NotRequired[float]
    """Of budget: share of activations that may be kept."""


class MemorySave(TypedDict):
    incarnation: int
    """Incarnation that saved it."""
    step: int
    """Its step."""


class MemorySaves(TypedDict):
    everySteps: int
    """Steps between two saves in memory. Each save stops the ranks while they copy their state."""
    sizePerGpu: str
    """Largest size of one save of one rank. Coxswain adds twice as much to the memory that pods request, because each rank keeps two. A rank whose state is larger saves no memory copy and says so in its log."""


class MemorySavesInput(TypedDict):
    everySteps: int
    """Steps between two saves in memory. Each save stops the ranks while they copy their state."""
    sizePerGpu: str
    """Largest size of one save of one rank. Coxswain adds twice as much to the memory that pods request, because each rank keeps two. A rank whose state is larger saves no memory copy and says so in its log."""


class ModelShape(TypedDict):
    """Sizes of a model."""
    name: NotRequired[str]
    layers: int
    """Transformer layers, without multi-token-prediction layers."""
    hiddenSize: int
    """Width of the residual stream."""
    ffnHiddenSize: int
    """Inner width of a dense MLP; 0 if no layer has one."""
    attentionHeads: int
    """Query heads of an attention layer."""
    keyValueHeads: int
    """Groups of grouped-query attention; equal to attentionHeads for multi-head attention."""
    headDim: int
    """Width of one head; hiddenSize / attentionHeads in most models."""
    vocabularySize: int
    """Tokens of the vocabulary, without padding."""
    gatedMlp: bool
    """SwiGLU and similar: an MLP has three matrices instead of two."""
    rmsNorm: bool
    """RMSNorm (one vector) instead of LayerNorm (two)."""
    linearBias: bool
    """Linear layers have a bias vector."""
    dropout: bool
    """Dropout masks are kept for the backward pass."""
    tiedEmbeddings: bool
    """The output layer has the weights of the input embedding."""
    learnedPositions: int
    """Rows of a learned position table; 0 for rotary or none."""
    attentionWindow: int
    """Tokens of a sliding window; 0 for full attention."""
    windowedLayers: int
    """How many attention layers use the window."""
    attentionSinks: bool
    """Each head has a learned score that the softmax adds to the scores of the keys (GPT-OSS and similar)."""
    mtpLayers: int
    """Multi-token-prediction layers after the last layer."""
    experts: NotRequired[ModelShapeExperts]
    """Mixture of experts. Absent: every layer has a dense MLP."""
    latentAttention: NotRequired[ModelShapeLatentAttention]
    """Multi-head latent attention (DeepSeek-V2/V3)."""
    stateSpace: NotRequired[ModelShapeStateSpace]
    """Mamba-2 mixer of the layers marked M."""
    layerPattern: NotRequired[str]
    """One letter per layer for hybrids whose layers hold one block each: A or * attention, L linear attention, M Mamba-2, E experts, - MLP. Absent: every layer is attention followed by an MLP or experts."""


class ModelShapeExperts(TypedDict):
    """Mixture of experts. Absent: every layer has a dense MLP."""
    count: int
    """Routed experts of a layer."""
    topK: int
    """Experts that process each token."""
    ffnHiddenSize: int
    """Inner width of one routed expert."""
    sharedFfnHiddenSize: int
    """Total inner width of the shared experts, which process every token."""
    denseLayers: int
    """Leading layers with a dense MLP instead of experts."""
    latentSize: int
    """Width that tokens are projected to before dispatch; 0: hiddenSize."""


class ModelShapeInput(TypedDict):
    """Sizes of a model."""
    name: NotRequired[str]
    layers: int
    """Transformer layers, without multi-token-prediction layers."""
    hiddenSize: int
    """Width of the residual stream."""
    ffnHiddenSize: int
    """Inner width of a dense MLP; 0 if no layer has one."""
    attentionHeads: int
    """Query heads of an attention layer."""
    keyValueHeads: int
    """Groups of grouped-query attention; equal to attentionHeads for multi-head attention."""
    headDim: int
    """Width of one head; hiddenSize / attentionHeads in most models."""
    vocabularySize: int
    """Tokens of the vocabulary, without padding."""
    gatedMlp: bool
    """SwiGLU and similar: an MLP has three matrices instead of two."""
    rmsNorm: NotRequired[bool]
    """RMSNorm (one vector) instead of LayerNorm (two)."""
    linearBias: NotRequired[bool]
    """Linear layers have a bias vector."""
    dropout: NotRequired[bool]
    """Dropout masks are kept for the backward pass."""
    tiedEmbeddings: NotRequired[bool]
    """The output layer has the weights of the input embedding."""
    learnedPositions: NotRequired[int]
    """Rows of a learned position table; 0 for rotary or none."""
    attentionWindow: NotRequired[int]
    """Tokens of a sliding window; 0 for full attention."""
    windowedLayers: NotRequired[int]
    """How many attention layers use the window."""
    attentionSinks: NotRequired[bool]
    """Each head has a learned score that the softmax adds to the scores of the keys (GPT-OSS and similar)."""
    mtpLayers: NotRequired[int]
    """Multi-token-prediction layers after the last layer."""
    experts: NotRequired[ModelShapeInputExperts]
    """Mixture of experts. Absent: every layer has a dense MLP."""
    latentAttention: NotRequired[ModelShapeInputLatentAttention]
    """Multi-head latent attention (DeepSeek-V2/V3)."""
    stateSpace: NotRequired[ModelShapeInputStateSpace]
    """Mamba-2 mixer of the layers marked M."""
    layerPattern: NotRequired[str]
    """One letter per layer for hybrids whose layers hold one block each: A or * attention, L linear attention, M Mamba-2, E experts, - MLP. Absent: every layer is attention followed by an MLP or experts."""


class ModelShapeInputExperts(TypedDict):
    """Mixture of experts. Absent: every layer has a dense MLP."""
    count: int
    """Routed experts of a layer."""
    topK: int
    """Experts that process each token."""
    ffnHiddenSize: int
    """Inner width of one routed expert."""
    sharedFfnHiddenSize: NotRequired[int]
    """Total inner width of the shared experts, which process every token."""
    denseLayers: NotRequired[int]
    """Leading layers with a dense MLP instead of experts."""
    latentSize: NotRequired[int]
    """Width that tokens are projected to before dispatch; 0: hiddenSize."""


class ModelShapeInputLatentAttention(TypedDict):
    """Multi-head latent attention (DeepSeek-V2/V3)."""
    queryRank: int
    """0: queries are not compressed."""
    keyValueRank: int
    """Width of the compressed keys and values."""
    nopeHeadDim: int
    """Width of a head without positions."""
    ropeHeadDim: int
    """Width of a head with rotary positions."""
    valueHeadDim: int
    """Width of the values of a head."""


class ModelShapeInputStateSpace(TypedDict):
    """Mamba-2 mixer of the layers marked M."""
    stateSize: int
    """Width of the state of a head."""
    heads: int
    """Heads of the mixer."""
    headDim: int
    """Width of one head of the mixer."""
    groups: int
    """Groups of heads that share their B and C projections."""
    convKernel: NotRequired[int]
    """Length of the convolution before the mixer."""


class ModelShapeLatentAttention(TypedDict):
    """Multi-head latent attention (DeepSeek-V2/V3)."""
    queryRank: int
    """0: queries are not compressed."""
    keyValueRank: int
    """Width of the compressed keys and values."""
    nopeHeadDim: int
    """Width of a head without positions."""
    ropeHeadDim: int
    """Width of a head with rotary positions."""
    valueHeadDim: int
    """Width of the values of a head."""


class ModelShapeStateSpace(TypedDict):
    """Mamba-2 mixer of the layers marked M."""
    stateSize: int
    """Width of the state of a head."""
    heads: int
    """Heads of the mixer."""
    headDim: int
    """Width of one head of the mixer."""
    groups: int
    """Groups of heads that share their B and C projections."""
    convKernel: int
    """Length of the convolution before the mixer."""


class ModelSpec(TypedDict):
    preset: NotRequired[str]
    """A model that the planner knows by name, such as llama-3.1-8b: `coxswain presets models` lists them."""
    huggingFace: NotRequired[dict[str, Any]]
    """Content of the config.json of published weights. Unknown architectures are rejected."""
    layers: NotRequired[int]
    """Transformer layers, without multi-token-prediction layers."""
    hiddenSize: NotRequired[int]
    """Width of the residual stream."""
    ffnHiddenSize: NotRequired[int]
    """Inner width of a dense MLP. Absent: four times hiddenSize; 0: no layer has one."""
    attentionHeads: NotRequired[int]
    """Query heads of an attention layer."""
    keyValueHeads: NotRequired[int]
    """Groups of grouped-query attention. Absent: attentionHeads, which is multi-head attention."""
    headDim: NotRequired[int]
    """Width of one head. Absent: hiddenSize / attentionHeads."""
    vocabularySize: NotRequired[int]
    """Number of tokens. Absent: 256, for bytes."""
    gatedMlp: NotRequired[bool]
    """Gated MLP such as SwiGLU: three matrices instead of two. Absent: two."""
    rmsNorm: NotRequired[bool]
    """RMSNorm (one vector) instead of LayerNorm (two). Absent: RMSNorm."""
    linearBias: NotRequired[bool]
    """Linear layers have a bias vector."""
    dropout: NotRequired[bool]
    """Dropout masks are kept for the backward pass."""
    tiedEmbeddings: NotRequired[bool]
    """The output layer has the weights of the input embedding."""
    learnedPositions: NotRequired[int]
    """Rows of a learned position table; 0 for rotary or none."""
    attentionWindow: NotRequired[int]
    """Tokens of a sliding window; 0 for full attention."""
    windowedLayers: NotRequired[int]
    """How many attention layers use the window."""
    attentionSinks: NotRequired[bool]
    """Each head has a learned score that the softmax adds to the scores of the keys (GPT-OSS and similar)."""
    mtpLayers: NotRequired[int]
    """Multi-token-prediction layers after the last layer."""
    experts: NotRequired[ModelSpecExperts]
    """Mixture of experts. Absent: every layer has a dense MLP."""
    latentAttention: NotRequired[ModelSpecLatentAttention]
    """Multi-head latent attention (DeepSeek-V2/V3)."""
    stateSpace: NotRequired[ModelSpecStateSpace]
    """Mamba-2 mixer of the layers marked M."""
    layerPattern: NotRequired[str]
    """One letter per layer for hybrids whose layers hold one block each: A or * attention, L linear attention, M Mamba-2, E experts, - MLP. Absent: every layer is attention followed by an MLP or experts."""
    sequenceLength: int
    """Tokens per sample."""


class ModelSpecExperts(TypedDict):
    """Mixture of experts. Absent: every layer has a dense MLP."""
    count: int
    """Routed experts of a layer."""
    topK: int
    """Experts that process each token."""
    ffnHiddenSize: int
    """Inner width of one routed expert."""
    sharedFfnHiddenSize: int
    """Total inner width of the shared experts, which process every token."""
    denseLayers: int
    """Leading layers with a dense MLP instead of experts."""
    latentSize: int
    """Width that tokens are projected to before dispatch; 0: hiddenSize."""


class ModelSpecInput(TypedDict):
    preset: NotRequired[str]
    """A model that the planner knows by name, such as llama-3.1-8b: `coxswain presets models` lists them."""
    huggingFace: NotRequired[dict[str, Any]]
    """Content of the config.json of published weights. Unknown architectures are rejected."""
    layers: NotRequired[int]
    """Transformer layers, without multi-token-prediction layers."""
    hiddenSize: NotRequired[int]
    """Width of the residual stream."""
    ffnHiddenSize: NotRequired[int]
    """Inner width of a dense MLP. Absent: four times hiddenSize; 0: no layer has one."""
    attentionHeads: NotRequired[int]
    """Query heads of an attention layer."""
    keyValueHeads: NotRequired[int]
    """Groups of grouped-query attention. Absent: attentionHeads, which is multi-head attention."""
    headDim: NotRequired[int]
    """Width of one head. Absent: hiddenSize / attentionHeads."""
    vocabularySize: NotRequired[int]
    """Number of tokens. Absent: 256, for bytes."""
    gatedMlp: NotRequired[bool]
    """Gated MLP such as SwiGLU: three matrices instead of two. Absent: two."""
    rmsNorm: NotRequired[bool]
    """RMSNorm (one vector) instead of LayerNorm (two). Absent: RMSNorm."""
    linearBias: NotRequired[bool]
    """Linear layers have a bias vector."""
    dropout: NotRequired[bool]
    """Dropout masks are kept for the backward pass."""
    tiedEmbeddings: NotRequired[bool]
    """The output layer has the weights of the input embedding."""
    learnedPositions: NotRequired[int]
    """Rows of a learned position table; 0 for rotary or none."""
    attentionWindow: NotRequired[int]
    """Tokens of a sliding window; 0 for full attention."""
    windowedLayers: NotRequired[int]
    """How many attention layers use the window."""
    attentionSinks: NotRequired[bool]
    """Each head has a learned score that the softmax adds to the scores of the keys (GPT-OSS and similar)."""
    mtpLayers: NotRequired[int]
    """Multi-token-prediction layers after the last layer."""
    experts: NotRequired[ModelSpecInputExperts]
    """Mixture of experts. Absent: every layer has a dense MLP."""
    latentAttention: NotRequired[ModelSpecInputLatentAttention]
    """Multi-head latent attention (DeepSeek-V2/V3)."""
    stateSpace: NotRequired[ModelSpecInputStateSpace]
    """Mamba-2 mixer of the layers marked M."""
    layerPattern: NotRequired[str]
    """One letter per layer for hybrids whose layers hold one block each: A or * attention, L linear attention, M Mamba-2, E experts, - MLP. Absent: every layer is attention followed by an MLP or experts."""
    sequenceLength: int
    """Tokens per sample."""


class ModelSpecInputExperts(TypedDict):
    """Mixture of experts. Absent: every layer has a dense MLP."""
    count: int
    """Routed experts of a layer."""
    topK: int
    """Experts that process each token."""
    ffnHiddenSize: int
    """Inner width of one routed expert."""
    sharedFfnHiddenSize: NotRequired[int]
    """Total inner width of the shared experts, which process every token."""
    denseLayers: NotRequired[int]
    """Leading layers with a dense MLP instead of experts."""
    latentSize: NotRequired[int]
    """Width that tokens are projected to before dispatch; 0: hiddenSize."""


class ModelSpecInputLatentAttention(TypedDict):
    """Multi-head latent attention (DeepSeek-V2/V3)."""
    queryRank: int
    """0: queries are not compressed."""
    keyValueRank: int
    """Width of the compressed keys and values."""
    nopeHeadDim: int
    """Width of a head without positions."""
    ropeHeadDim: int
    """Width of a head with rotary positions."""
    valueHeadDim: int
    """Width of the values of a head."""


class ModelSpecInputStateSpace(TypedDict):
    """Mamba-2 mixer of the layers marked M."""
    stateSize: int
    """Width of the state of a head."""
    heads: int
    """Heads of the mixer."""
    headDim: int
    """Width of one head of the mixer."""
    groups: int
    """Groups of heads that share their B and C projections."""
    convKernel: NotRequired[int]
    """Length of the convolution before the mixer."""


class ModelSpecLatentAttention(TypedDict):
    """Multi-head latent attention (DeepSeek-V2/V3)."""
    queryRank: int
    """0: queries are not compressed."""
    keyValueRank: int
    """Width of the compressed keys and values."""
    nopeHeadDim: int
    """Width of a head without positions."""
    ropeHeadDim: int
    """Width of a head with rotary positions."""
    valueHeadDim: int
    """Width of the values of a head."""


class ModelSpecStateSpace(TypedDict):
    """Mamba-2 mixer of the layers marked M."""
    stateSize: int
    """Width of the state of a head."""
    heads: int
    """Heads of the mixer."""
    headDim: int
    """Width of one head of the mixer."""
    groups: int
    """Groups of heads that share their B and C projections."""
    convKernel: int
    """Length of the convolution before the mixer."""


class ObservedJob(TypedDict):
    namespace: str
    kind: Literal["JobSet", "TrainJob", "PyTorchJob", "Job", "Pod"]
    """Of the owner of its pods."""
    name: str
    attempt: int
    """Restarts of a JobSet, by the label of its pods; 0 for other kinds."""
    phase: Literal["Pending", "Starting", "Training", "NotTraining", "Ended", "Unknown"]
    observedSince: str | None
    """Since when this operator receives reports. What happened before is unknown. null: it has received none."""
    worldSize: int | None
    """From the environment of ranks; null: unknown."""
    gpus: int
    """GPUs that its pods request."""
    step: int | None
    """Newest step that a rank completed; null: none was observed."""
    stepTimeMs: float | None
    """Of that step, the slowest rank."""
    pods: list[ObservedJobPodsItem]
    """At most 512."""
    standing: str | None
    """What it does instead of training; null: it trains, or that is unknown."""
    findings: list[ObservedJobFindingsItem]
    """The newest last."""
    ledger: ObservedJobLedger
    """Seconds of the job by what it did. Unknown: before the first report, or without reports."""
    unknown: list[str]
    """What cannot be known about this job."""


class ObservedJobFindingsItem(TypedDict):
    at: str
    kind: str
    ranks: list[int]
    """Ranks that are to blame; empty: none is."""
    nodes: list[str]
    message: str
    evidence: dict[str, str | float]
    """What supports it, with stack traces."""


class ObservedJobLedger(TypedDict):
    """Seconds of the job by what it did. Unknown: before the first report, or without reports."""
    training: float
    starting: float
    notTraining: float
    unknown: float


class ObservedJobPodsItem(TypedDict):
    name: str
    node: NotRequired[str]
    podPhase: str
    ranks: str
    """Ranks that report, as ranges."""
    rankPhases: list[Literal["starting", "compiling", "training", "evaluating", "saving", "ended"]]
    """What these ranks do, each once."""
    exitCodes: list[int]
    """Of its containers that ended."""
    reportedAgoSeconds: float | None
    """null: it has not reported."""
    unknown: NotRequired[str]
    """Why its ranks are not observed."""


class ObservedJobs(TypedDict):
    jobs: list[ObservedJob]
    """By namespace and name."""
    leftOut: int
    """Jobs that did not fit the answer."""


class OffloadRule(TypedDict):
    """What is kept in host memory or on disk between its uses."""
    what: Literal["optimizer", "parameters", "activations", "layers"]
    """What is offloaded. optimizer: its states. layers: all but a window of layers."""
    to: NotRequired[Literal["cpu", "nvme"]]
    """Absent: cpu."""
    fraction: NotRequired[float]
    """Share that is offloaded. Absent: 1."""
    modules: NotRequired[list[str]]
    """Of activations: only those of these modules."""
    overlap: NotRequired[bool]
    """Transfers overlap computation."""
    subgroupElements: NotRequired[int]
    """Parameters per subgroup of optimizer states (DeepSpeed sub_group_size)."""
    gpuStride: NotRequired[int]
    """One of this many subgroups is updated on the GPU, the others on the CPU (Deep Optimizer States)."""
    windowLayers: NotRequired[int]
    """Of layers: how many stay on the GPU."""
    refillLayers: NotRequired[int]
    """Of layers: how many are fetched at a time."""


class OffloadRuleInput(TypedDict):
    """What is kept in host memory or on disk between its uses."""
    what: Literal["optimizer", "parameters", "activations", "layers"]
    """What is offloaded. optimizer: its states. layers: all but a window of layers."""
    to: NotRequired[Literal["cpu", "nvme"]]
    """Absent: cpu."""
    fraction: NotRequired[float]
    """Share that is offloaded. Absent: 1."""
    modules: NotRequired[list[str]]
    """Of activations: only those of these modules."""
    overlap: NotRequired[bool]
    """Transfers overlap computation."""
    subgroupElements: NotRequired[int]
    """Parameters per subgroup of optimizer states (DeepSpeed sub_group_size)."""
    gpuStride: NotRequired[int]
    """One of this many subgroups is updated on the GPU, the others on the CPU (Deep Optimizer States)."""
    windowLayers: NotRequired[int]
    """Of layers: how many stay on the GPU."""
    refillLayers: NotRequired[int]
    """Of layers: how many are fetched at a time."""


class OptimizerSpec(TypedDict):
    name: Literal["adamw", "adam", "sgd", "lion", "lamb", "adafactor", "muon"]
    """Kind of optimizer."""
    beta1: NotRequired[float]
    """Of the running mean of gradients."""
    beta2: NotRequired[float]
    """Of the running mean of their squares."""
    epsilon: NotRequired[float]
    """Added to the denominator."""
    momentum: NotRequired[float]
    """Of sgd and muon."""
    clipNorm: NotRequired[float]
    """Gradients are scaled down to this global norm. 0: no scaling."""


class OptimizerSpecInput(TypedDict):
    name: NotRequired[Literal["adamw", "adam", "sgd", "lion", "lamb", "adafactor", "muon"]]
    """Kind of optimizer."""
    beta1: NotRequired[float]
    """Of the running mean of gradients."""
    beta2: NotRequired[float]
    """Of the running mean of their squares."""
    epsilon: NotRequired[float]
    """Added to the denominator."""
    momentum: NotRequired[float]
    """Of sgd and muon."""
    clipNorm: NotRequired[float]
    """Gradients are scaled down to this global norm. 0: no scaling."""


class ParallelLayout(TypedDict):
    """How the ranks of a job are divided; the product of the degrees is its world size."""
    tensorParallelDegree: int
    """Ways each layer is split; these ranks must share an NVLink domain."""
    pipelineParallelDegree: int
    """Number of stages; each holds consecutive layers and has its own ranks."""
    dataParallelDegree: int
    """Ranks that each take a share of the global batch."""
    contextParallelDegree: NotRequired[int]
    """Ways the tokens of a sample are split. Absent: 1."""
    dataParallelShardDegree: NotRequired[int]
    """Ranks, out of data times context parallel, that share one copy of sharded states; the rest are replicas (HSDP, MiCS). Absent: all."""
    weightShardDegree: NotRequired[int]
    """Further ranks that share each tensor-parallel weight and gather it before use (GTP). Absent: 1."""
    rankOrder: NotRequired[list[Literal["tensor", "weightShard", "context", "expert", "data", "pipeline"]]]
    """Axes from adjacent ranks to distant ones; those of degree 1 may be left out. Absent: tensor, context, expert, data, pipeline."""
    expert: NotRequired[ExpertLayout]
    pipeline: NotRequired[PipelinePlan]
    sequence: NotRequired[SequencePlan]
    states: NotRequired[StateSharding]
    memory: NotRequired[MemoryPolicy]
    communication: NotRequired[CommunicationPolicy]
    kernel: NotRequired[KernelPolicy]
    checkpointPolicy: NotRequired[CheckpointPolicy]
    perLayer: NotRequired[list[LayerOverride]]
    """Layers that are divided differently. Absent: none."""
    tensorPlacements: NotRequired[list[TensorPlacement]]
    """For engines that support placements."""


class ParallelLayoutInput(TypedDict):
    """How the ranks of a job are divided; the product of the degrees is its world size."""
    tensorParallelDegree: NotRequired[int]
    """Ways each layer is split; these ranks must share an NVLink domain."""
    pipelineParallelDegree: NotRequired[int]
    """Number of stages; each holds consecutive layers and has its own ranks."""
    dataParallelDegree: NotRequired[int]
    """Ranks that each take a share of the global batch."""
    contextParallelDegree: NotRequired[int]
    """Ways the tokens of a sample are split. Absent: 1."""
    dataParallelShardDegree: NotRequired[int]
    """Ranks, out of data times context parallel, that share one copy of sharded states; the rest are replicas (HSDP, MiCS). Absent: all."""
    weightShardDegree: NotRequired[int]
    """Further ranks that share each tensor-parallel weight and gather it before use (GTP). Absent: 1."""
    rankOrder: NotRequired[list[Literal["tensor", "weightShard", "context", "expert", "data", "pipeline"]]]
    """Axes from adjacent ranks to distant ones; those of degree 1 may be left out. Absent: tensor, context, expert, data, pipeline."""
    expert: NotRequired[ExpertLayoutInput]
    pipeline: NotRequired[PipelinePlanInput]
    sequence: NotRequired[SequencePlanInput]
    states: NotRequired[StateShardingInput]
    memory: NotRequired[MemoryPolicyInput]
    communication: NotRequired[CommunicationPolicyInput]
    kernel: NotRequired[KernelPolicyInput]
    checkpointPolicy: NotRequired[CheckpointPolicyInput]
    perLayer: NotRequired[list[LayerOverrideInput]]
    """Layers that are divided differently. Absent: none."""
    tensorPlacements: NotRequired[list[TensorPlacementInput]]
    """For engines that support placements."""


class PassedOverCheckpoint(TypedDict):
    checkpoint: str
    """Name of the Checkpoint."""
    step: int
    """Its step."""
    path: str
    """Directory inside the claim."""
    manifestSha256: str
    """SHA-256 of its manifest."""
    files: list[str]
    """Files that could not be read, as containers see them; of a long path the end. Their content is verified."""
    why: str
    """What is held against it, in a sentence."""


class PastStart(TypedDict):
    job: QueueJobName
    expectedSince: str
    """Since when nodes were held for the job."""
    expected: str
    """The start that was expected first."""
    actual: str
    errorSeconds: int
    """Positive: the job started later than expected."""
    errorPct: float | None
    """Of the expected wait. Null: no wait was expected."""


class PastStarts(TypedDict):
    count: int
    medianErrorSeconds: int | None
    """Of the absolute error. Null: no job started."""
    p90ErrorSeconds: int | None
    medianErrorPct: float | None
    p90ErrorPct: float | None
    items: list[PastStart]
    """Newest first."""


class PinnedAxes(TypedDict):
    """Fixed choices; the planner searches the others."""
    tensor: NotRequired[int]
    context: NotRequired[int]
    pipeline: NotRequired[int]
    data: NotRequired[int]
    expert: NotRequired[int]
    expertTensor: NotRequired[int]
    shardGroup: NotRequired[int]
    """Ranks that share one copy of sharded states."""
    chunks: NotRequired[int]
    """Model chunks per rank (virtual pipeline)."""
    microBatchSize: NotRequired[int]
    zeroStage: NotRequired[int]
    schedule: NotRequired[Literal["gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-2p", "zbv", "v-half", "v-min", "dualpipe-v"]]
    recompute: NotRequired[Literal["none", "core-attention", "norms", "mlp", "operations", "half", "full"]]
    partition: NotRequired[Literal["even", "vocabulary", "balanced"]]
    contextAlgorithm: NotRequired[Literal["ring", "allgather", "ulysses"]]
    rankOrder: NotRequired[Literal["tp-cp-dp-pp", "tp-cp-pp-dp", "tp-dp-cp-pp", "tp-dp-pp-cp", "tp-pp-cp-dp", "tp-pp-dp-cp"]]
    offloadOptimizer: NotRequired[float]
    offloadActivations: NotRequired[float]


class PinnedAxesInput(TypedDict):
    """Fixed choices; the planner searches the others."""
    tensor: NotRequired[int]
    context: NotRequired[int]
    pipeline: NotRequired[int]
    data: NotRequired[int]
    expert: NotRequired[int]
    expertTensor: NotRequired[int]
    shardGroup: NotRequired[int]
    """Ranks that share one copy of sharded states."""
    chunks: NotRequired[int]
    """Model chunks per rank (virtual pipeline)."""
    microBatchSize: NotRequired[int]
    zeroStage: NotRequired[int]
    schedule: NotRequired[Literal["gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-2p", "zbv", "v-half", "v-min", "dualpipe-v"]]
    recompute: NotRequired[Literal["none", "core-attention", "norms", "mlp", "operations", "half", "full"]]
    partition: NotRequired[Literal["even", "vocabulary", "balanced"]]
    contextAlgorithm: NotRequired[Literal["ring", "allgather", "ulysses"]]
    rankOrder: NotRequired[Literal["tp-cp-dp-pp", "tp-cp-pp-dp", "tp-dp-cp-pp", "tp-dp-pp-cp", "tp-pp-cp-dp", "tp-pp-dp-cp"]]
    offloadOptimizer: NotRequired[float]
    offloadActivations: NotRequired[float]


class PipelinePlan(TypedDict):
    """Order of passes on a pipeline, and what each stage holds."""
    schedule: NotRequired[Literal["gpipe", "1f1b", "interleaved-1f1b", "looped-bfs", "zb-h1", "zb-2p", "zbv", "v-half", "v-min", "dualpipe-v", "schedule-file", "partial-paths", "graph-chunks"]]
    """Absent: 1f1b, or interleaved-1f1b if a rank holds several chunks."""
    chunksPerRank: NotRequired[int]
    """Model chunks per rank (virtual pipeline). Absent: 1."""
    microBatchGroupSize: NotRequired[int]
    """Micro-batches that one chunk processes before the next chunk. Absent: pipelineParallelDegree."""
    stages: NotRequired[list[PipelineStage]]
    """pipelineParallelDegree * chunksPerRank entries in the order a sample passes through. Absent: as even as possible."""
    vocabulary: NotRequired[Literal["end-stages", "counted-as-layer", "sharded-over-pp", "interlaced"]]
    """Which stages hold the embedding and the output layer. Absent: end-stages."""
    vocabularyBarriers: NotRequired[int]
    """Synchronisations per micro-batch of a vocabulary that is sharded over the pipeline."""
    scheduleFile: NotRequired[str]
    """For schedule-file and partial-paths: the file that lists the passes of each rank."""
    skipRatio: NotRequired[float]
    """Share of stages that a micro-batch skips (SkipPipe)."""
    protectedStages: NotRequired[int]
    """Number of first stages that no micro-batch skips (SkipPipe)."""
    graphChunks: NotRequired[int]
    """Dependent pieces of the graph that flow like micro-batches (GNNPipe)."""
    stalenessEpochs: NotRequired[int]
    """Age of the embeddings used if the neighbours of a chunk have not run yet (GNNPipe)."""


class PipelinePlanInput(TypedDict):
    """Order of passes on a pipeline, and what each stage holds."""
    schedule: NotRequired[Literal["gpipe", "1f1b", "interleaved-1f1b", "looped-bfs", "zb-h1", "zb-2p", "zbv", "v-half", "v-min", "dualpipe-v", "schedule-file", "partial-paths", "graph-chunks"]]
    """Absent: 1f1b, or interleaved-1f1b if a rank holds several chunks."""
    chunksPerRank: NotRequired[int]
    """Model chunks per rank (virtual pipeline). Absent: 1."""
    microBatchGroupSize: NotRequired[int]
    """Micro-batches that one chunk processes before the next chunk. Absent: pipelineParallelDegree."""
    stages: NotRequired[list[PipelineStageInput]]
    """pipelineParallelDegree * chunksPerRank entries in the order a sample passes through. Absent: as even as possible."""
    vocabulary: NotRequired[Literal["end-stages", "counted-as-layer", "sharded-over-pp", "interlaced"]]
    """Which stages hold the embedding and the output layer. Absent: end-stages."""
    vocabularyBarriers: NotRequired[int]
    """Synchronisations per micro-batch of a vocabulary that is sharded over the pipeline."""
    scheduleFile: NotRequired[str]
    """For schedule-file and partial-paths: the file that lists the passes of each rank."""
    skipRatio: NotRequired[float]
    """Share of stages that a micro-batch skips (SkipPipe)."""
    protectedStages: NotRequired[int]
    """Number of first stages that no micro-batch skips (SkipPipe)."""
    graphChunks: NotRequired[int]
    """Dependent pieces of the graph that flow like micro-batches (GNNPipe)."""
    stalenessEpochs: NotRequired[int]
    """Age of the embeddings used if the neighbours of a chunk have not run yet (GNNPipe)."""


class PipelineStage(TypedDict):
    """What one virtual stage of a pipeline holds."""
    layers: int
    """Transformer layers of the stage."""
    embedding: NotRequired[bool]
    """Whether it holds the input embedding."""
    loss: NotRequired[bool]
    """Output layer and loss."""
    mtpLayers: NotRequired[int]
    """Multi-token-prediction layers."""


class PipelineStageInput(TypedDict):
    """What one virtual stage of a pipeline holds."""
    layers: int
    """Transformer layers of the stage."""
    embedding: NotRequired[bool]
    """Whether it holds the input embedding."""
    loss: NotRequired[bool]
    """Output layer and loss."""
    mtpLayers: NotRequired[int]
    """Multi-token-prediction layers."""


class Plan(TypedDict):
    layout: ParallelLayout
    microBatchSize: int
    gpus: int
    prediction: Prediction
    costUsd: NotRequired[float]
    """Cost of the whole training if tokens are given, else of one step."""
    trainingHours: NotRequired[float]
    """Present if tokens are given."""
    stagesOfIslands: NotRequired[list[int]]
    """Number of consecutive stages on each island, in the order of the request. Absent if the network has one island, or if a stage spans several."""
    stageGpus: NotRequired[list[PlanStageGpusItem]]
    """Present with stagesOfIslands if islands have several types of GPU: the GPU type of consecutive stages."""
    whyStages: NotRequired[str]
    """Present with stagesOfIslands: which island each stage is on, and why it has its number of layers."""


class PlanAccuracy(TypedDict):
    overall: AccuracyFigures
    groups: list[AccuracyGroup]
    """By engine and GPU, largest first."""
    items: list[MeasuredPrediction]
    """Newest first, at most 500; the figures cover the newest 10,000."""


class PlanAdvice(TypedDict):
    """A change of the request that is predicted to be faster, or that makes training possible."""
    kind: Literal["fewerGpus", "otherBatch", "largerBatch", "tensorInDomain"]
    """otherBatch: near the requested one. largerBatch: 2 to 8 times as large."""
    sentence: str
    """The advised change, with the step times before and after."""
    globalBatchSize: int
    plan: Plan
    """A plan for the advised GPUs and batch. It is one of the requested layouts or a usual one, so a search for these GPUs and this batch may find a faster plan."""


class PlanAnswer(TypedDict):
    best: NotRequired[Plan]
    """Absent if nothing fits."""
    plans: list[Plan]
    """The first plan is the simplest of those within the prediction error of the fastest. The others follow by the objective, so a faster one may come later; near duplicates are left out. Plans that use host memory come after those that do not. If all of them use it, the last gives way to the best plan that does not, if one fits and is at most 25 % slower. If the request names no engine, all have what Megatron-LM runs; only the last may have another schedule, if that is faster."""
    advice: NotRequired[list[PlanAdvice]]
    """Fewer GPUs or another batch, if that is faster."""
    whyNothing: NotRequired[str]
    """Present if no layout is legal: the rule that excludes them, and what to change."""
    pareto: list[Plan]
    """Pareto front of time, memory and GPUs, of layouts at most 25 % slower than the fastest on the same number of GPUs. Fastest first."""
    closest: NotRequired[ClosestPlan]
    ruledOut: list[RuledOut]
    counted: SearchCounts
    calibration: str
    """What the predictions are calibrated on, and their error."""
    assumptions: list[str]


class PlanCluster(TypedDict):
    gpu: str
    """Name of a GPU preset."""
    gpus: int
    """GPUs that may be used."""
    gpusPerNode: NotRequired[int]
    """Absent: as in the preset."""
    scaleUpDomainGpus: NotRequired[int]
    """GPUs joined by NVLink or a similar network. Absent: as in the preset."""
    scaleOutGbPerS: NotRequired[float]
    """Per GPU and direction; a 400 Gb/s NIC per GPU is 50. Absent: as in the preset."""
    nicKind: NotRequired[Literal["infiniband", "roce", "efa", "omnipath", "ethernet", "other"]]
    islands: NotRequired[list[PlanIsland]]
    """Absent: one network joins all nodes."""
    betweenIslandsGbPerS: NotRequired[float]
    """Per GPU and direction."""
    stagesInOneIsland: NotRequired[bool]
    """Each pipeline stage is placed in one island, so only pipeline traffic crosses islands; islands may then have more GPUs than are used. Absent: ranks fill islands in order."""
    usdPerGpuHour: NotRequired[float]
    """Absent: as in the preset."""
    profile: NotRequired[ClusterProfile]
    """Measurements of this cluster. Absent: usual values of its GPU type."""


class PlanClusterInput(TypedDict):
    gpu: str
    """Name of a GPU preset."""
    gpus: int
    """GPUs that may be used."""
    gpusPerNode: NotRequired[int]
    """Absent: as in the preset."""
    scaleUpDomainGpus: NotRequired[int]
    """GPUs joined by NVLink or a similar network. Absent: as in the preset."""
    scaleOutGbPerS: NotRequired[float]
    """Per GPU and direction; a 400 Gb/s NIC per GPU is 50. Absent: as in the preset."""
    nicKind: NotRequired[Literal["infiniband", "roce", "efa", "omnipath", "ethernet", "other"]]
    islands: NotRequired[list[PlanIslandInput]]
    """Absent: one network joins all nodes."""
    betweenIslandsGbPerS: NotRequired[float]
    """Per GPU and direction."""
    stagesInOneIsland: NotRequired[bool]
    """Each pipeline stage is placed in one island, so only pipeline traffic crosses islands; islands may then have more GPUs than are used. Absent: ranks fill islands in order."""
    usdPerGpuHour: NotRequired[float]
    """Absent: as in the preset."""
    profile: NotRequired[ClusterProfileInput]
    """Measurements of this cluster. Absent: usual values of its GPU type."""


class PlanIsland(TypedDict):
    """GPUs that share one network; islands reach each other over a slower one."""
    gpus: int
    gpu: NotRequired[str]
    """Name of a GPU preset. Absent: the GPU of the cluster."""
    scaleOutGbPerS: NotRequired[float]
    nicKind: NotRequired[Literal["infiniband", "roce", "efa", "omnipath", "ethernet", "other"]]
    relativeSpeed: float
    """Measured speed of one GPU relative to the prediction for its type; slower islands get fewer layers."""


class PlanIslandInput(TypedDict):
    """GPUs that share one network; islands reach each other over a slower one."""
    gpus: int
    gpu: NotRequired[str]
    """Name of a GPU preset. Absent: the GPU of the cluster."""
    scaleOutGbPerS: NotRequired[float]
    nicKind: NotRequired[Literal["infiniband", "roce", "efa", "omnipath", "ethernet", "other"]]
    relativeSpeed: NotRequired[float]
    """Measured speed of one GPU relative to the prediction for its type; slower islands get fewer layers."""


class PlanList(TypedDict):
    items: list[PlanSummary]
    nextPageToken: NotRequired[str]
    """Absent on the last page. A page ends at 1 MiB too, so it can have fewer items than were asked for."""


class PlanRequest(TypedDict):
    model: NotRequired[str]
    """Name of a model preset; or give modelShape."""
    modelShape: NotRequired[ModelShape]
    cluster: PlanCluster
    globalBatchSize: int
    """Samples per step over all data-parallel ranks."""
    sequenceLength: int
    """Tokens per sample."""
    precision: NotRequired[Literal["fp32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"]]
    """Format of matrix products. Absent: bf16, or fp16 if a GPU has no bf16 (before Ampere)."""
    gradientPrecision: NotRequired[Literal["fp32", "bf16"]]
    """Format in which gradients are summed. Absent: fp32; bf16 for megatron-bridge, as its performance recipes have it."""
    lora: NotRequired[LoraSpec]
    """Only adapters are trained. Absent: all weights."""
    packing: NotRequired[SequencePacking]
    """Attention stays within documents, as training.packing of a job. Absent: it spans the sample."""
    stack: NotRequired[str]
    """Engine and release, such as megatron-lm core_v0.15."""
    objective: Literal["time", "cost", "gpus", "memory"]
    tokens: NotRequired[float]
    """Tokens of the whole training."""
    deadlineHours: NotRequired[float]
    """Longest training time in hours."""
    top: int
    """Number of layouts in the answer."""
    memoryMarginShare: NotRequired[float]
    """Share of GPU memory that a layout must leave free to count as fitting."""
    pinned: NotRequired[PinnedAxes]
    allow: NotRequired[AllowedChoices]


class PlanRequestInput(TypedDict):
    model: NotRequired[str]
    """Name of a model preset; or give modelShape."""
    modelShape: NotRequired[ModelShapeInput]
    cluster: PlanClusterInput
    globalBatchSize: int
    """Samples per step over all data-parallel ranks."""
    sequenceLength: int
    """Tokens per sample."""
    precision: NotRequired[Literal["fp32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"]]
    """Format of matrix products. Absent: bf16, or fp16 if a GPU has no bf16 (before Ampere)."""
    gradientPrecision: NotRequired[Literal["fp32", "bf16"]]
    """Format in which gradients are summed. Absent: fp32; bf16 for megatron-bridge, as its performance recipes have it."""
    lora: NotRequired[LoraSpecInput]
    """Only adapters are trained. Absent: all weights."""
    packing: NotRequired[SequencePackingInput]
    """Attention stays within documents, as training.packing of a job. Absent: it spans the sample."""
    stack: NotRequired[str]
    """Engine and release, such as megatron-lm core_v0.15."""
    objective: NotRequired[Literal["time", "cost", "gpus", "memory"]]
    tokens: NotRequired[float]
    """Tokens of the whole training."""
    deadlineHours: NotRequired[float]
    """Longest training time in hours."""
    top: NotRequired[int]
    """Number of layouts in the answer."""
    memoryMarginShare: NotRequired[float]
    """Share of GPU memory that a layout must leave free to count as fitting."""
    pinned: NotRequired[PinnedAxesInput]
    allow: NotRequired[AllowedChoicesInput]


class PlanStageGpusItem(TypedDict):
    stages: int
    gpu: str
    """Name of a GPU preset."""


class PlanSummary(TypedDict):
    id: str
    project: str
    model: str | None
    gpu: str
    gpus: int
    layout: ParallelLayout | None
    """null: no layout fits."""
    predictedStepMs: float | None
    predictedStepLowMs: NotRequired[float]
    """With predictedStepHighMs, where 80 of 100 such steps lie. Absent: no layout fits, or the answer was kept before there were intervals."""
    predictedStepHighMs: NotRequired[float]
    plannerVersion: str
    createdAt: str


class PodReplacement(TypedDict):
    podIndex: int
    """Index of the pod that held the ranks before."""
    standby: int
    """Index of the standby that holds them since."""
    incarnation: int
    """First incarnation of the ranks in that standby."""
    at: NotRequired[str]
    """When it was recorded. Absent: recorded by an earlier release."""


class Prediction(TypedDict):
    stepTimeS: float
    interval: NotRequired[PredictionInterval]
    """Absent in answers that were stored before intervals existed."""
    tokensPerSPerGpu: float
    modelFlopsUtilizationPct: float
    breakdown: list[TimePart]
    """Parts of the step; they sum to stepTimeS."""
    memory: list[StageMemory]
    """One per pipeline stage."""
    peakGib: float
    """Peak of the stage that needs most memory."""
    peakInterval: NotRequired[MemoryInterval]
    """Absent in answers that were stored before it existed."""
    capacityGib: float
    verdict: Literal["fits", "tight", "doesNotFit"]
    bubbleShare: float
    """Share of the pipeline phase in which a GPU waits."""
    error: PredictionError


class PredictionError(TypedDict):
    """Error of similar predictions against published measurements that were left out of the fit. All rows of one source, model and GPU are left out together."""
    basis: str
    """Which measurements the error is computed from."""
    medianAbsPct: float
    p90AbsPct: float
    n: int
    """How many measurements."""


class PredictionInterval(TypedDict):
    """Interval of the step time, from the errors of predictions on published rows that were left out of the fit by whole groups. It contains the prediction."""
    lowS: float
    highS: float
    coveragePct: float
    """Share of such step times between lowS and highS, in percent."""
    standsOn: Literal["chip", "engineFamily", "pytorchEngines", "allEngines", "otherSources"]
    """chip: rows of this chip, engine family and kind of model (dense, experts). engineFamily: rows of the family and kind, because the chip has fewer than 20. pytorchEngines: rows of the engines that run on PyTorch alone (DeepSpeed, FSDP, Hugging Face, TorchTitan), because few runs of each are published. allEngines: rows of the kind, because the family has fewer than 20. otherSources: rows of the kind with whole sources left out, because no constant was fitted on the engine."""
    rows: int
    """Number of these rows."""


class PreflightSpec(TypedDict):
    level: Literal["Off", "Quick", "Full"]
    """Off: No checks: ranks start as soon as their pod has its assignment. Quick: Checks devices, shared memory, limits, disk, clock and versions without loading PyTorch; takes about a second. Full: Also checks the GPUs with PyTorch and measures the bandwidth between pods; takes some seconds more than PyTorch takes to load."""
    timeoutSeconds: int
    """Time limit once every pod of the gang has started; checks that are not done by then are left out."""


class PreflightSpecInput(TypedDict):
    level: NotRequired[Literal["Off", "Quick", "Full"]]
    """Off: No checks: ranks start as soon as their pod has its assignment. Quick: Checks devices, shared memory, limits, disk, clock and versions without loading PyTorch; takes about a second. Full: Also checks the GPUs with PyTorch and measures the bandwidth between pods; takes some seconds more than PyTorch takes to load."""
    timeoutSeconds: NotRequired[int]
    """Time limit once every pod of the gang has started; checks that are not done by then are left out."""


class ProfileFactor(TypedDict):
    constant: str
    """Name of a constant of the time model."""
    factor: float
    engine: NotRequired[str]
    """Engine family that the factor applies to. Absent: all."""
    isOfHost: NotRequired[bool]
    """Measured with plain PyTorch on the host; applies to engines without constants in the planner."""


class ProfileFactorInput(TypedDict):
    constant: str
    """Name of a constant of the time model."""
    factor: float
    engine: NotRequired[str]
    """Engine family that the factor applies to. Absent: all."""
    isOfHost: NotRequired[bool]
    """Measured with plain PyTorch on the host; applies to engines without constants in the planner."""


class Project(TypedDict):
    name: str
    namespaces: list[str]
    createdAt: str
    priorityClasses: NotRequired[list[str]]
    """PriorityClasses that jobs of the project may name in spec.priorityClassName. Empty: none. Absent: the API is of an earlier release."""


class ProjectCreateInput(TypedDict):
    name: str
    namespaces: list[str]
    """Namespaces the project owns; a namespace belongs to one project."""


class ProjectLimit(TypedDict):
    name: Literal["requestBurst", "changeBurst", "writeBurst", "stopBurst", "cpuMilliseconds", "concurrentRequests", "plans", "streams", "logStreams", "jobs", "endedJobs", "layouts", "tokens", "webhooks", "storedPlans", "jobRecords"]
    """At once after a pause: requestBurst: requests, changeBurst: job changes, writeBurst: requests that may change something, stopBurst: requests that stop a job, cpuMilliseconds: processor time. At the same time: streams: event streams, logStreams: logs, jobs: active jobs, endedJobs: ended jobs in the cluster, jobRecords: records of deleted jobs, tokens: valid tokens, plans: queued and running searches."""
    most: int | None
    """Null: unlimited."""
    used: int
    """Current number, counted up to 10,000 if more are allowed. For bursts and cpuMilliseconds: those not yet refilled; `perSecond` or `perMinute` are refilled. More than `most`: a debt."""
    perSecond: int | None
    """Refill rate per second; null: no refill, or a refill per minute."""
    perMinute: NotRequired[int]
    """Refill rate per minute; absent: no refill, or a refill per second."""
    counted: Literal["inReplica", "inProject"]
    """inReplica: each replica of the API counts separately; this is the count of the replica that answered."""


class ProjectLimitList(TypedDict):
    items: list[ProjectLimit]


class ProjectList(TypedDict):
    items: list[Project]


class ProjectPatchInput(TypedDict):
    priorityClasses: list[str]
    """PriorityClasses that jobs of the project may name; they replace the earlier ones. Jobs that exist keep theirs."""


class Queue(TypedDict):
    asOf: str
    totalGpus: int
    freeGpus: int
    waitingJobs: int
    """Of the whole cluster."""
    waitingGpus: int
    oldestWaitSeconds: int | None
    """Null: no job waits."""
    problem: str | None
    """Why no start is predicted, for example because the nodes of the cluster could not be read. Null: starts are predicted."""
    items: list[QueueJob]
    """In order. Jobs of the project are listed before others if there are too many."""
    hasMore: bool
    timelineUntil: str
    timeline: list[QueueEvent]
    """Soonest first."""
    hasMoreEvents: bool
    windows: list[QueueWindow]
    """Windows of the Fabric that are not over. The one that begins first is listed first."""
    use: list[QueueUse]
    starts: PastStarts


class QueueConstraint(TypedDict):
    kind: Literal["Gpus", "Nodes", "Quota", "JobsAhead", "Placement"]
    """Gpus: too few GPUs are free. Nodes: enough GPUs are free, too few nodes are empty. Quota: a ResourceQuota. JobsAhead: what is free goes to jobs ahead. Placement: enough is free by count; the job is placed next, or waits for GPUs that are connected as it needs."""
    gpuType: str | None
    """Null: any type."""
    needed: int
    """GPUs; nodes if kind is Nodes."""
    free: int
    sentence: str


class QueueEvent(TypedDict):
    kind: Literal["End", "Start"]
    """End: a running job gives its GPUs back. Start: a waiting job gets its GPUs."""
    job: QueueJobName | None
    """Null: a job of a project that the caller may not see."""
    gpus: int
    at: str
    earliest: str
    latest: str | None
    """Null: no bound is known."""
    restsOn: Literal["Measured", "Predicted", "MaxRuntime", "Assumed"] | None
    """What the end rests on that the job waits for. Measured: measured step times. Predicted: step times of the planner. MaxRuntime: a limit. Assumed: nothing is known. Null: the job waits for no end."""
    nodesHeld: bool
    """Nodes are held for the job."""


class QueueJob(TypedDict):
    position: int
    """From 1, over all jobs of the cluster that wait for GPUs."""
    job: QueueJobName | None
    """Null: a job of a project that the caller may not see."""
    priority: int
    gpus: int
    waitingSince: str
    start: QueueStart | None
    """Null: no start is predicted."""
    constraint: QueueConstraint


class QueueJobName(TypedDict):
    id: str
    name: str
    namespace: str
    project: str | None
    """Null: its namespace belongs to none."""


class QueueStart(TypedDict):
    at: str
    earliest: str
    latest: str | None
    """Null: no bound is known."""
    restsOn: Literal["Measured", "Predicted", "MaxRuntime", "Assumed"] | None
    """What the end rests on that the job waits for. Measured: measured step times. Predicted: step times of the planner. MaxRuntime: a limit. Assumed: nothing is known. Null: the job waits for no end."""
    nodesHeld: bool
    """Nodes are held for the job."""


class QueueUse(TypedDict):
    project: str
    heldGpus: int
    waitingJobs: int
    waitingGpus: int
    quotaGpus: int | None
    """Sum of the ResourceQuotas of its namespaces on GPUs. Null: a namespace has none, or they could not be read."""


QueueWindow = TypedDict(
    "QueueWindow",
    {
        "kind": "Literal[\"Maintenance\", \"Project\"]",
        "name": "str | None",
        "project": "str | None",
        "from": "str",
        "until": "str",
        "nodes": "int",
    },
)


class RankMap(TypedDict):
    epoch: int
    items: list[RankPlace]
    bytesPerStep: RankTraffic | None
    """What the placement sends over which boundary. Null: nothing is placed, or its nodes are not all seen."""
    nodes: list[RankNode]
    """Each node that ranks are on, once."""


class RankNode(TypedDict):
    name: str
    nvlinkDomain: str | None
    """Null: a domain of its own, or unknown."""
    island: str | None
    nicType: str | None
    switches: list[str]
    """Switches above the node, nearest first: leaf, spine, core and beyond. Empty: unknown, or the node is not observed now."""


class RankOperation(TypedDict):
    rank: int
    """Global rank."""
    phase: Literal["starting", "compiling", "training", "evaluating", "saving", "ended"]
    """What the rank does."""
    step: NotRequired[int]
    """Last that was complete. Absent: none."""
    operation: NotRequired[str]
    """In which it waits. Absent: it waits in no group."""
    group: NotRequired[str]
    """Group of ranks in which it waits."""
    sequence: NotRequired[int]
    """Number of that operation in its group."""
    forMs: float
    """For how long, by the clock of the rank."""


class RankPlace(TypedDict):
    rank: int
    podIndex: int
    pod: str
    node: str
    tensorIndex: int
    contextIndex: int
    dataIndex: int
    pipelineIndex: int
    nvlinkDomain: str | None
    island: str | None
    nicType: str | None
    lastStep: int | None
    stepTimeMs: float | None


class RankTraffic(TypedDict):
    source: Literal["planned", "assumed"]
    """planned: from the model and batch of the job. assumed: from a typical model, because the job names none."""
    gpu: float
    """Between GPUs: all traffic between ranks."""
    node: float
    nvlinkDomain: float
    leaf: float
    spine: float
    core: float
    """Switches beyond the spine."""
    island: float


class RecommendedSaves(TypedDict):
    everySteps: int
    everySeconds: float
    """Training time of these steps."""
    secondsPerSave: float
    """How long a save stopped the ranks, on average. 0: less than reports of steps show."""
    saves: int
    """Saves that were measured."""
    secondsToFailure: float
    """Expected time between failures of the job."""
    failures: int
    """Failures of the job itself; a published rate counts as one more."""


class RecordedFabric(TypedDict):
    snapshot: FabricSnapshot
    places: list[FabricPlace]
    hardware: list[FabricHardware]
    nodes: RecordedFabricNodes


class RecordedFabricNodes(TypedDict):
    names: list[str]
    """Sorted."""
    gpus: list[int]
    """Allocatable GPUs."""
    places: list[int]
    """Index of the node’s place."""
    hardware: list[int]
    """Index of the node’s hardware."""


class RenderedFile(TypedDict):
    path: str
    text: str


class RenderedPort(TypedDict):
    name: str
    port: int


class RenderedProgram(TypedDict):
    release: str | None
    """Of the engine that it is rendered for; null: a program of your own."""
    startedBy: Literal["launcher", "torchrun", "ft_launcher"]
    argv: list[str]
    """Program and arguments. $(NAME) stands for a variable of the rank, which its launcher puts there; $$ is a dollar sign."""
    resumeArgs: list[str]
    """Put after them where the ranks begin from a checkpoint."""
    env: list[RenderedVariable]
    """Without secrets."""
    files: list[RenderedFile]
    """Below $(COXSWAIN_ENGINE_FILES)."""
    ports: list[RenderedPort]
    hostMemoryGibPerGpu: float | None
    """null: no more than usual."""
    stepLines: str | None
    """Format of step lines that are read from the log; null: a hook or the engine reports steps."""
    checkpointFormat: str | None
    """Format in which it saves; null: the engine reports its checkpoints itself."""
    notes: list[str]
    """What follows from other words, what was assumed, what the engine does in its own way."""


class RenderedVariable(TypedDict):
    name: str
    value: str


class RenderingRefusal(TypedDict):
    rule: str
    field: str
    """Below the spec of the job, with dots."""
    why: str
    fallback: str
    """What to do instead."""


class RenderingRequestInput(TypedDict):
    engine: AskedEngineInput
    layout: ParallelLayoutInput
    model: NotRequired[AskedModelInput]
    training: NotRequired[AskedTrainingInput]
    data: NotRequired[DataSpecInput]
    """Absent: random tokens."""
    initialWeights: NotRequired[InitialWeightsInput]
    checkpoint: NotRequired[CheckpointSpecInput]
    gpusPerPod: NotRequired[int]
    nicClasses: NotRequired[list[str]]
    """Class of the NICs of each pod: infiniband, roce or ethernet."""
    gpu: NotRequired[str]
    """Name of a GPU preset."""


class ResourcesSpec(TypedDict):
    gpusPerNode: NotRequired[int]
    """Ranks per pod; default: as many as the nodes have GPUs, at most the world size."""
    cpuPerGpu: NotRequired[str]
    """CPU for each GPU of a pod. Absent: no request."""
    memoryPerGpu: NotRequired[str]
    """Memory for each GPU of a pod. Absent: no request."""
    acrossIslands: NotRequired[Literal["Never", "Pipeline", "Sockets"]]
    """Placement of a gang that no network island can hold. Never: the job waits. Pipeline: pipeline stages may be in several islands of one NIC class, if these islands can reach each other; other groups stay in one island. Sockets: any islands, with every rank on TCP sockets, which costs most of the speed between nodes. Absent: Never."""


class ResourcesSpecInput(TypedDict):
    gpusPerNode: NotRequired[int]
    """Ranks per pod; default: as many as the nodes have GPUs, at most the world size."""
    cpuPerGpu: NotRequired[str]
    """CPU for each GPU of a pod. Absent: no request."""
    memoryPerGpu: NotRequired[str]
    """Memory for each GPU of a pod. Absent: no request."""
    acrossIslands: NotRequired[Literal["Never", "Pipeline", "Sockets"]]
    """Placement of a gang that no network island can hold. Never: the job waits. Pipeline: pipeline stages may be in several islands of one NIC class, if these islands can reach each other; other groups stay in one island. Sockets: any islands, with every rank on TCP sockets, which costs most of the speed between nodes. Absent: Never."""


class RestartPhaseTime(TypedDict):
    phase: Literal["detecting", "deciding", "reaping", "placing", "starting", "importing", "meeting", "loading", "stepping"]
    """Each phase begins where the last known one before it ends."""
    seconds: float | None
    """Null: not known, or not over yet. The time of a phase that is not known is in the next known one."""


class RestartPhaseTotal(TypedDict):
    phase: Literal["detecting", "deciding", "reaping", "placing", "starting", "importing", "meeting", "loading", "stepping"]
    """Each phase begins where the last known one before it ends."""
    restarts: int
    """Restarts that have come to their first step, if the phase is known."""
    seconds: float
    """Of these restarts, in all."""
    gpuSeconds: float
    """GPU-seconds that were held meanwhile. While nodes are sought none are."""


class RestartPolicy(TypedDict):
    maxRestarts: int
    """Failures that may be answered with a new attempt or incarnation; lost nodes, lost port races and failures of the environment are not charged."""
    delaySeconds: int
    """Delay before the first restart; doubles with each charged restart up to 300 s."""
    inPlace: Literal["WhenPossible", "Never"]
    """WhenPossible: if a rank failed and every pod of the gang is alive, the ranks restart in the same pods; after a second failure without progress, or if that is impossible, in new pods. Never: always in new pods."""
    preloadPyTorch: NotRequired[Literal["WhenPossible", "Never"]]
    """WhenPossible: while the ranks train, a second process of each rank imports PyTorch and waits. If the ranks restart in the same pods, it takes over, and the restart does not wait for imports. It needs 1 GiB of memory for each rank below the limit of the pod, and a command that begins with python; if that is missing, the log of the pod says so. A change applies to pods that are created after it. Never: a restart imports PyTorch anew. Absent: Never."""
    sameTraceback: NotRequired[Literal["Fail", "Restart"]]
    """Fail: the job fails if its program raises the same exception twice before its first step, on more than one node. Restart: it restarts while the budget lasts. Absent: Fail."""


class RestartPolicyInput(TypedDict):
    maxRestarts: NotRequired[int]
    """Failures that may be answered with a new attempt or incarnation; lost nodes, lost port races and failures of the environment are not charged."""
    delaySeconds: NotRequired[int]
    """Delay before the first restart; doubles with each charged restart up to 300 s."""
    inPlace: NotRequired[Literal["WhenPossible", "Never"]]
    """WhenPossible: if a rank failed and every pod of the gang is alive, the ranks restart in the same pods; after a second failure without progress, or if that is impossible, in new pods. Never: always in new pods."""
    preloadPyTorch: NotRequired[Literal["WhenPossible", "Never"]]
    """WhenPossible: while the ranks train, a second process of each rank imports PyTorch and waits. If the ranks restart in the same pods, it takes over, and the restart does not wait for imports. It needs 1 GiB of memory for each rank below the limit of the pod, and a command that begins with python; if that is missing, the log of the pod says so. A change applies to pods that are created after it. Never: a restart imports PyTorch anew. Absent: Never."""
    sameTraceback: NotRequired[Literal["Fail", "Restart"]]
    """Fail: the job fails if its program raises the same exception twice before its first step, on more than one node. Restart: it restarts while the budget lasts. Absent: Fail."""


ResumeFrom = TypedDict(
    "ResumeFrom",
    {
        "from": "str",
        "request": "NotRequired[str]",
    },
)


ResumeFromInput = TypedDict(
    "ResumeFromInput",
    {
        "from": "str",
        "request": "NotRequired[str]",
    },
)


class RuledOut(TypedDict):
    rule: str
    count: int
    """Combinations that break the rule; a combination that breaks several counts for the first."""
    example: str
    """Message for one of these combinations, near the best layout if there is one."""


class RunClock(TypedDict):
    reapedAt: NotRequired[str]
    """When every process of the incarnation before was gone. Absent: the first incarnation of its pods, or not reported."""
    startedAt: NotRequired[str]
    """When the process of every rank had been started."""
    importedAt: NotRequired[str]
    """When every rank had imported PyTorch. Absent: no hook reported it for all ranks."""
    metAt: NotRequired[str]
    """When every rank had initialised its process group (rendezvous). Absent: no hook reported it for all ranks."""
    loadedAt: NotRequired[str]
    """When every rank had loaded the checkpoint. Absent: none was loaded, or neither the engine nor the hook reported it for all ranks."""
    failedAt: NotRequired[str]
    """When a launcher first saw that a rank had failed. Absent: no launcher did, as after the loss of a node."""
    saves: NotRequired[list[SaveStop]]
    """How long ranks stood still for each of the newest saves, oldest first. Absent: none was measured."""


class RuntimeRef(TypedDict):
    kind: Literal["ClusterTrainingRuntime", "TrainingRuntime"]
    """TrainingRuntime: a runtime in the namespace of the job."""
    name: str
    """Name of the runtime."""


class RuntimeRefInput(TypedDict):
    kind: NotRequired[Literal["ClusterTrainingRuntime", "TrainingRuntime"]]
    """TrainingRuntime: a runtime in the namespace of the job."""
    name: str
    """Name of the runtime."""


class SaveStop(TypedDict):
    step: int
    """Step of the save."""
    ms: int
    """How much longer the step after the save took than steps without a save, in milliseconds. 0: no longer."""


class ScratchSpec(TypedDict):
    sizeLimit: NotRequired[str]
    """Most that a pod may write into its directory on the node, which is deleted with the pod; the kubelet evicts a pod that writes more. Absent: limited only by the node."""
    claimName: NotRequired[str]
    """Instead of a directory of the node: a PersistentVolumeClaim that every node can mount, shared by all pods and kept after the job."""
    path: NotRequired[str]
    """Directory inside the claim."""


class ScratchSpecInput(TypedDict):
    sizeLimit: NotRequired[str]
    """Most that a pod may write into its directory on the node, which is deleted with the pod; the kubelet evicts a pod that writes more. Absent: limited only by the node."""
    claimName: NotRequired[str]
    """Instead of a directory of the node: a PersistentVolumeClaim that every node can mount, shared by all pods and kept after the job."""
    path: NotRequired[str]
    """Directory inside the claim."""


class SearchCounts(TypedDict):
    enumerated: int
    """Layouts of the searched space, including duplicates."""
    legal: int
    """Enumerated layouts that no rule excluded before a bound or the memory limit did."""
    fitting: int
    """Legal layouts that neither memory nor the deadline excluded."""
    bounded: int
    """Fitting layouts that lower bounds of time and memory proved to be worse than the answer."""
    timed: int
    """The remaining layouts, whose time and memory were predicted in full."""


class SequencePacking(TypedDict):
    """Documents are packed into samples, and no token attends to another document."""
    meanTokens: NotRequired[int]
    """Mean length of a document. Absent: attention is priced as if each sample were one document."""


class SequencePackingInput(TypedDict):
    """Documents are packed into samples, and no token attends to another document."""
    meanTokens: NotRequired[int]
    """Mean length of a document. Absent: attention is priced as if each sample were one document."""


class SequencePlan(TypedDict):
    """How the tokens of one sample are divided."""
    sequenceParallel: NotRequired[bool]
    """Norms and dropout are split by tokens inside a tensor group (Megatron). Absent: false."""
    contextAlgorithm: NotRequired[Literal["ring", "ring-self-attention", "dist-flash", "allgather", "ulysses", "ulysses-ring", "token-ring", "magi", "state-allgather", "state-scan"]]
    """Absent: ring."""
    ulyssesDegree: NotRequired[int]
    """Degree of the all-to-all of contextAlgorithm ulysses-ring; the ring has the rest of contextParallelDegree."""
    perLayerKind: NotRequired[SequencePlanPerLayerKind]
    """For hybrid models: the algorithm of each kind of layer; overrides contextAlgorithm."""
    causalBalance: NotRequired[Literal["none", "head-tail", "zigzag", "ptrr", "helper"]]
    """How the work of a causal mask is balanced over ranks. Absent: head-tail."""
    scanBlocks: NotRequired[int]
    """Blocks of the state that state-scan pipelines (ZeCO)."""
    dynamic: NotRequired[SequencePlanDynamic]
    """Groups are chosen in each step by the lengths of its sequences."""


class SequencePlanDynamic(TypedDict):
    """Groups are chosen in each step by the lengths of its sequences."""
    method: Literal["flexsp", "hybrid-data-parallel"]
    """flexsp: groups solved for each step. hybrid-data-parallel: as many ranks per sequence as it needs (ByteScale)."""
    maxTokensPerRank: int
    """Most tokens that one rank holds in a step."""
    degrees: NotRequired[Literal["powers-of-two", "any"]]
    """Absent: powers-of-two."""
    solverCpuCores: NotRequired[int]
    """CPU cores per pod that the solver needs."""
    perTokenLoss: NotRequired[bool]
    """The loss is averaged over tokens, not samples."""


class SequencePlanInput(TypedDict):
    """How the tokens of one sample are divided."""
    sequenceParallel: NotRequired[bool]
    """Norms and dropout are split by tokens inside a tensor group (Megatron). Absent: false."""
    contextAlgorithm: NotRequired[Literal["ring", "ring-self-attention", "dist-flash", "allgather", "ulysses", "ulysses-ring", "token-ring", "magi", "state-allgather", "state-scan"]]
    """Absent: ring."""
    ulyssesDegree: NotRequired[int]
    """Degree of the all-to-all of contextAlgorithm ulysses-ring; the ring has the rest of contextParallelDegree."""
    perLayerKind: NotRequired[SequencePlanInputPerLayerKind]
    """For hybrid models: the algorithm of each kind of layer; overrides contextAlgorithm."""
    causalBalance: NotRequired[Literal["none", "head-tail", "zigzag", "ptrr", "helper"]]
    """How the work of a causal mask is balanced over ranks. Absent: head-tail."""
    scanBlocks: NotRequired[int]
    """Blocks of the state that state-scan pipelines (ZeCO)."""
    dynamic: NotRequired[SequencePlanInputDynamic]
    """Groups are chosen in each step by the lengths of its sequences."""


class SequencePlanInputDynamic(TypedDict):
    """Groups are chosen in each step by the lengths of its sequences."""
    method: Literal["flexsp", "hybrid-data-parallel"]
    """flexsp: groups solved for each step. hybrid-data-parallel: as many ranks per sequence as it needs (ByteScale)."""
    maxTokensPerRank: int
    """Most tokens that one rank holds in a step."""
    degrees: NotRequired[Literal["powers-of-two", "any"]]
    """Absent: powers-of-two."""
    solverCpuCores: NotRequired[int]
    """CPU cores per pod that the solver needs."""
    perTokenLoss: NotRequired[bool]
    """The loss is averaged over tokens, not samples."""


class SequencePlanInputPerLayerKind(TypedDict):
    """For hybrid models: the algorithm of each kind of layer; overrides contextAlgorithm."""
    attention: NotRequired[Literal["ring", "ring-self-attention", "dist-flash", "allgather", "ulysses", "ulysses-ring", "token-ring", "magi", "state-allgather", "state-scan"]]
    """For layers with softmax attention."""
    linearAttention: NotRequired[Literal["ring", "ring-self-attention", "dist-flash", "allgather", "ulysses", "ulysses-ring", "token-ring", "magi", "state-allgather", "state-scan"]]
    """For layers with linear attention."""
    stateSpace: NotRequired[Literal["ring", "ring-self-attention", "dist-flash", "allgather", "ulysses", "ulysses-ring", "token-ring", "magi", "state-allgather", "state-scan"]]
    """For state-space (Mamba) layers."""


class SequencePlanPerLayerKind(TypedDict):
    """For hybrid models: the algorithm of each kind of layer; overrides contextAlgorithm."""
    attention: NotRequired[Literal["ring", "ring-self-attention", "dist-flash", "allgather", "ulysses", "ulysses-ring", "token-ring", "magi", "state-allgather", "state-scan"]]
    """For layers with softmax attention."""
    linearAttention: NotRequired[Literal["ring", "ring-self-attention", "dist-flash", "allgather", "ulysses", "ulysses-ring", "token-ring", "magi", "state-allgather", "state-scan"]]
    """For layers with linear attention."""
    stateSpace: NotRequired[Literal["ring", "ring-self-attention", "dist-flash", "allgather", "ulysses", "ulysses-ring", "token-ring", "magi", "state-allgather", "state-scan"]]
    """For state-space (Mamba) layers."""


class SeriesGap(TypedDict):
    at: str
    missedFrames: int | None
    """null: unknown, because the stream restarted."""


class ShownRetention(TypedDict):
    keeps: bool
    """Whether it stays."""
    because: str
    """Why, in a sentence."""
    problem: NotRequired[str]
    """Why its files could not be deleted yet. Absent: nothing was in the way."""


class SignInMethods(TypedDict):
    issuer: str | None
    """OpenID Connect issuer; null: with API tokens alone."""
    commandLine: SignInMethodsCommandLine | None
    """Client of `coxswain login` at the identity provider; null: sign-in from the command line is off."""


class SignInMethodsCommandLine(TypedDict):
    clientId: str
    scopes: str


class SignInToken(TypedDict):
    token: str
    """Shown once; only a hash is stored."""
    name: str
    expiresAt: str
    """At most 12 hours from now."""


class SignInTradeInput(TypedDict):
    idToken: str
    """Issued in the last ten minutes, to the client of the command line. Taken once."""
    accessToken: NotRequired[str]
    """Used to read groups that the ID token does not contain."""
    refreshToken: NotRequired[str]
    """By which groups are read again; without one the session may end after an hour."""


class SilentRanks(TypedDict):
    ranks: str
    """Global ranks as ranges: `0-3,8`."""
    why: Literal["noAnswer", "stopped", "uninterruptible", "noHook", "olderHook", "notRunning", "notConnected", "launcherSilent"]
    node: NotRequired[str]
    """Where all of them are on one."""


class StackGroup(TypedDict):
    thread: str
    """Its name, as the program gave it."""
    isMain: bool
    """Whether the program began with it."""
    frames: list[str]
    """Innermost first: `function (file:line)`."""
    isCut: NotRequired[bool]
    """Whether functions further out are left out."""
    ranks: str
    """Global ranks as ranges: `0-3,8`."""
    rankCount: int


class StageMemory(TypedDict):
    stage: int
    """Position in the pipeline, from 0."""
    peakGib: float
    parts: list[MemoryPart]
    """They sum to peakGib."""


class StartChange(TypedDict):
    kind: Literal["MoreNodes", "FewerGpus", "HigherPriority"]
    """MoreNodes: amount more empty nodes. FewerGpus: the job on amount GPUs. HigherPriority: the job first in line."""
    amount: int | None
    gpuType: str | None
    start: str
    """The expected start with this change alone."""
    sentence: str


class StartVerdict(TypedDict):
    reason: str
    """Stable name: the reason of the condition that it stands on, or Submitted, NotApplied."""
    condition: str | None
    """Type of that condition; null: none was written yet."""
    sentence: str
    """What the job waits for, in the words of its condition."""
    change: str | None
    """The smallest change that helps; null: none is needed, the job continues by itself."""
    object: StartVerdictObject | None
    """The object that the change is about; null: the job itself, or none."""


class StartVerdictObject(TypedDict):
    kind: str
    name: str


class StateSharding(TypedDict):
    """Which share of parameters, gradients and optimizer states each rank holds."""
    zeroStage: NotRequired[int]
    """Sharded: 1 optimizer states, 2 gradients too, 3 parameters too. Absent: 0."""
    implementation: NotRequired[Literal["ddp", "distributed-optimizer", "megatron-fsdp", "fsdp2", "deepspeed"]]
    """Absent: ddp at stage 0, else the default of the engine."""
    secondaryShardDegree: NotRequired[int]
    """Second, smaller group that keeps weights for the backward pass (hpZ)."""
    reshardAfterForward: NotRequired[bool]
    """Stage 3: gathered weights are freed after the forward pass. Absent: true."""
    optimizerInstances: NotRequired[int]
    """Copies of the sharded optimizer states. Absent: 1."""
    optimizer: NotRequired[Literal["adamw", "sgd", "lion", "muon", "lamb", "galore", "natural-galore", "mezo-sgd"]]
    """Absent: adamw."""
    optimizerPrecision: NotRequired[Literal["fp32", "bf16", "fp16", "fp8"]]
    """Format of the optimizer moments. Absent: fp32."""
    gradientPrecision: NotRequired[Literal["fp32", "bf16"]]
    """Format in which gradients are summed and reduced. Absent: fp32; fp16 if weights are fp16."""
    precisionAwareOptimizer: NotRequired[bool]
    """Master weights and moments have their own formats; optimizer offload of Megatron-LM needs it."""
    lowRank: NotRequired[StateShardingLowRank]
    """Only for galore and natural-galore."""
    perturbationDegree: NotRequired[int]
    """Of mezo-sgd: 2 runs both perturbed passes side by side on halves of the data-parallel ranks. Absent: 1."""


class StateShardingInput(TypedDict):
    """Which share of parameters, gradients and optimizer states each rank holds."""
    zeroStage: NotRequired[int]
    """Sharded: 1 optimizer states, 2 gradients too, 3 parameters too. Absent: 0."""
    implementation: NotRequired[Literal["ddp", "distributed-optimizer", "megatron-fsdp", "fsdp2", "deepspeed"]]
    """Absent: ddp at stage 0, else the default of the engine."""
    secondaryShardDegree: NotRequired[int]
    """Second, smaller group that keeps weights for the backward pass (hpZ)."""
    reshardAfterForward: NotRequired[bool]
    """Stage 3: gathered weights are freed after the forward pass. Absent: true."""
    optimizerInstances: NotRequired[int]
    """Copies of the sharded optimizer states. Absent: 1."""
    optimizer: NotRequired[Literal["adamw", "sgd", "lion", "muon", "lamb", "galore", "natural-galore", "mezo-sgd"]]
    """Absent: adamw."""
    optimizerPrecision: NotRequired[Literal["fp32", "bf16", "fp16", "fp8"]]
    """Format of the optimizer moments. Absent: fp32."""
    gradientPrecision: NotRequired[Literal["fp32", "bf16"]]
    """Format in which gradients are summed and reduced. Absent: fp32; fp16 if weights are fp16."""
    precisionAwareOptimizer: NotRequired[bool]
    """Master weights and moments have their own formats; optimizer offload of Megatron-LM needs it."""
    lowRank: NotRequired[StateShardingInputLowRank]
    """Only for galore and natural-galore."""
    perturbationDegree: NotRequired[int]
    """Of mezo-sgd: 2 runs both perturbed passes side by side on halves of the data-parallel ranks. Absent: 1."""


class StateShardingInputLowRank(TypedDict):
    """Only for galore and natural-galore."""
    rank: int
    """Rank of the projected gradients."""
    updateGapSteps: NotRequired[int]
    """Steps between new projections."""


class StateShardingLowRank(TypedDict):
    """Only for galore and natural-galore."""
    rank: int
    """Rank of the projected gradients."""
    updateGapSteps: NotRequired[int]
    """Steps between new projections."""


class StepBucket(TypedDict):
    lastStep: int
    steps: int
    """Number of recorded steps from the step of the point to lastStep."""
    loss: ValueRange | None
    tokensPerSecond: ValueRange | None
    stepTimeMs: ValueRange
    gradNorm: ValueRange | None
    learningRate: ValueRange | None


class StepList(TypedDict):
    items: list[StepPoint]
    gaps: list[SeriesGap]


class StepPoint(TypedDict):
    epoch: int
    step: int
    loss: float | None
    tokens: int | None
    tokensPerSecond: float | None
    stepTimeMs: float
    gradNorm: float | None
    learningRate: float | None
    at: str
    bucket: StepBucket | None
    """null: one step. Else step is the first of several, values are means, tokens is the sum, and at belongs to the last."""


class StepTime(TypedDict):
    epoch: int
    """Number of the attempt: the newest with a measurement, else the newest with a prediction."""
    predictedMs: float | None
    measuredMs: float | None
    """Median of the newest 1,000 steps of the attempt without its first 3; null before the fourth."""
    measuredSteps: int
    errorPct: float | None
    """(predicted - measured) / measured, in percent."""


class StoredLayout(TypedDict):
    id: str
    name: str | None
    layout: ParallelLayout
    worldSize: int
    createdAt: str


class StoredPlan(TypedDict):
    id: str
    project: str
    request: PlanRequest
    answer: PlanAnswer
    plannerVersion: str
    createdAt: str


class TensorGroup(TypedDict):
    name: str
    """Their name with its numbers, such as layers.{0..79}.attention.wq.weight. Not every combination need be there. *: all further tensors, of any dtype and shape."""
    tensors: int
    """Number of tensors in the group."""
    dtype: str
    """Their element type, as PyTorch calls it."""
    shape: list[int]
    """Elements along each dim of one tensor."""
    grid: list[int]
    """Chunks along each dim of one tensor."""
    kind: Literal["parameter", "master", "moment", "other"]
    """What they are for; the same words as kinds."""


class TensorPlacement(TypedDict):
    """Placement of tensors on each axis (SBP of OneFlow, DTensor of PyTorch)."""
    match: str
    """Pattern of tensor names, such as *.mlp.up.weight."""
    axes: list[TensorPlacementAxesItem]
    """Placement on each axis of the layout."""


class TensorPlacementAxesItem(TypedDict):
    axis: Literal["tensor", "weightShard", "context", "expert", "data", "pipeline"]
    """Axis of the layout."""
    placement: Literal["split", "broadcast", "partial-sum", "ragged"]
    """split: each rank has a part. broadcast: each has the whole tensor. partial-sum: the sum over the ranks is the tensor. ragged: parts of unequal size."""
    dimension: NotRequired[int]
    """Of split: the dimension of the tensor."""


class TensorPlacementInput(TypedDict):
    """Placement of tensors on each axis (SBP of OneFlow, DTensor of PyTorch)."""
    match: str
    """Pattern of tensor names, such as *.mlp.up.weight."""
    axes: list[TensorPlacementInputAxesItem]
    """Placement on each axis of the layout."""


class TensorPlacementInputAxesItem(TypedDict):
    axis: Literal["tensor", "weightShard", "context", "expert", "data", "pipeline"]
    """Axis of the layout."""
    placement: Literal["split", "broadcast", "partial-sum", "ragged"]
    """split: each rank has a part. broadcast: each has the whole tensor. partial-sum: the sum over the ranks is the tensor. ragged: parts of unequal size."""
    dimension: NotRequired[int]
    """Of split: the dimension of the tensor."""


class TimePart(TypedDict):
    part: str
    """What the time is spent on."""
    seconds: float


class TokenizerSpec(TypedDict):
    path: str
    """File or directory inside the claim of the data."""


class TokenizerSpecInput(TypedDict):
    path: str
    """File or directory inside the claim of the data."""


class TrainingJobSpec(TypedDict):
    engine: EngineSpec
    """The program that trains, and its image."""
    runtimeRef: NotRequired[RuntimeRef]
    """Runtime that adds devices, networks, sidecars and node selection to the pods. Absent: nothing is added."""
    model: NotRequired[ModelSpec]
    """Required by engine reference."""
    training: NotRequired[TrainingSpec]
    """Required by engine reference."""
    data: NotRequired[DataSpec]
    """Training data. Absent: the program finds its own."""
    initialWeights: NotRequired[InitialWeights]
    """Initial weights of the first attempt, if there is no checkpoint yet. Absent: random numbers."""
    scratch: NotRequired[ScratchSpec]
    """Temporary space at /coxswain/scratch; compilers and Hugging Face keep their caches there."""
    code: NotRequired[CodeSpec]
    """Files of the user, instead of a new image for each change. They are unpacked to /coxswain/code, and ranks start there. Absent: ranks start in the working directory of the image."""
    offline: NotRequired[bool]
    """true: pods cannot reach the network outside the cluster, and libraries are set to offline mode (HF_HUB_OFFLINE and similar variables). Absent: libraries may download."""
    roles: NotRequired[dict[str, Any]]
    """Reserved for jobs of several roles, and refused."""
    layout: NotRequired[ParallelLayout]
    """How the ranks are divided. Absent: the planner chooses, for gpus GPUs."""
    gpus: NotRequired[int]
    """GPUs of a job whose layout the planner chooses. Exactly one of layout and gpus is given."""
    minGpus: NotRequired[int]
    """Smallest number of GPUs to continue with if gpus are not available: the planner then chooses a layout for fewer GPUs with the same global batch. The job returns to all GPUs at a checkpoint once they have been free for a while. Absent: the job waits for gpus."""
    standby: NotRequired[int]
    """Standbys: pods beside the gang that hold GPUs, are measured by the preflight, and start no rank. If a pod of the gang or its node is lost, a standby takes its place, the other pods stay, and the ranks restart from the newest checkpoint. An attempt has as many as nodes of the kind of its gang are free. They count in every quota. It can change while the job is suspended. Absent: 0."""
    priorityClassName: NotRequired[str]
    """PriorityClass of the cluster. Of the jobs that wait, those with a higher value go first. It can change at any time, and a change applies as long as the job waits and each time it waits again; it stops no other job. Absent: the default class of the cluster, else value 0."""
    maxRuntimeSeconds: NotRequired[int]
    """How long one run of the job may hold GPUs, summed over its attempts. Time in which the job waits or is suspended does not count, and a job that is resumed after spec.suspend starts at 0. The job is announced the end, asked to save in time, and then ends as Failed with reason MaxRuntimeReached. It can change at any time. Absent: no limit."""
    resources: ResourcesSpec
    """What pods ask for, and where the gang may be placed."""
    checkpoint: NotRequired[CheckpointSpec]
    """Absent: nothing is saved and a restart begins from scratch."""
    expects: NotRequired[Literal["Training", "Nothing"]]
    """Training (default): exit code 0 of every rank completes the job only if it made a step or a checkpoint, where the spec asks for steps, tokens or checkpoints. Nothing: exit code 0 completes the job in any case; for evaluation, conversion and smoke tests."""
    resumeFrom: NotRequired[ResumeFrom]
    """Checkpoint from which the next attempt starts, once. Required if no checkpoint can be used, because training never restarts from scratch by itself. Absent, or already used: the newest checkpoint."""
    preflight: NotRequired[PreflightSpec]
    """Preflight of a gang before its first rank starts. Coxswain avoids a node that differs from its peers, and does not charge the restart budget. Absent: the value of the runtime, else level Quick."""
    restartPolicy: RestartPolicy
    """How often the gang restarts after failures, and how."""
    failurePolicy: NotRequired[FailurePolicy]
    """Rules and budgets for failures. With a policy, the delay before a restart grows by 0, 0, 30 s, 2, 8 and 15 min while no checkpoint is saved, and restartPolicy.delaySeconds is ignored. Absent: the value of the runtime, else only restartPolicy."""
    terminationGracePeriodSeconds: int
    """Time to save after SIGTERM before SIGKILL."""
    suspend: bool
    """true: save, stop and hold; layout and gpus may change meanwhile. false: run."""
    cancel: bool
    """true: stop for good. One-way."""


class TrainingJobSpecInput(TypedDict):
    engine: EngineSpecInput
    """The program that trains, and its image."""
    runtimeRef: NotRequired[RuntimeRefInput]
    """Runtime that adds devices, networks, sidecars and node selection to the pods. Absent: nothing is added."""
    model: NotRequired[ModelSpecInput]
    """Required by engine reference."""
    training: NotRequired[TrainingSpecInput]
    """Required by engine reference."""
    data: NotRequired[DataSpecInput]
    """Training data. Absent: the program finds its own."""
    initialWeights: NotRequired[InitialWeightsInput]
    """Initial weights of the first attempt, if there is no checkpoint yet. Absent: random numbers."""
    scratch: NotRequired[ScratchSpecInput]
    """Temporary space at /coxswain/scratch; compilers and Hugging Face keep their caches there."""
    code: NotRequired[CodeSpecInput]
    """Files of the user, instead of a new image for each change. They are unpacked to /coxswain/code, and ranks start there. Absent: ranks start in the working directory of the image."""
    offline: NotRequired[bool]
    """true: pods cannot reach the network outside the cluster, and libraries are set to offline mode (HF_HUB_OFFLINE and similar variables). Absent: libraries may download."""
    roles: NotRequired[dict[str, Any]]
    """Reserved for jobs of several roles, and refused."""
    layout: NotRequired[ParallelLayoutInput]
    """How the ranks are divided. Absent: the planner chooses, for gpus GPUs."""
    gpus: NotRequired[int]
    """GPUs of a job whose layout the planner chooses. Exactly one of layout and gpus is given."""
    minGpus: NotRequired[int]
    """Smallest number of GPUs to continue with if gpus are not available: the planner then chooses a layout for fewer GPUs with the same global batch. The job returns to all GPUs at a checkpoint once they have been free for a while. Absent: the job waits for gpus."""
    standby: NotRequired[int]
    """Standbys: pods beside the gang that hold GPUs, are measured by the preflight, and start no rank. If a pod of the gang or its node is lost, a standby takes its place, the other pods stay, and the ranks restart from the newest checkpoint. An attempt has as many as nodes of the kind of its gang are free. They count in every quota. It can change while the job is suspended. Absent: 0."""
    priorityClassName: NotRequired[str]
    """PriorityClass of the cluster. Of the jobs that wait, those with a higher value go first. It can change at any time, and a change applies as long as the job waits and each time it waits again; it stops no other job. Absent: the default class of the cluster, else value 0."""
    maxRuntimeSeconds: NotRequired[int]
    """How long one run of the job may hold GPUs, summed over its attempts. Time in which the job waits or is suspended does not count, and a job that is resumed after spec.suspend starts at 0. The job is announced the end, asked to save in time, and then ends as Failed with reason MaxRuntimeReached. It can change at any time. Absent: no limit."""
    resources: NotRequired[ResourcesSpecInput]
    """What pods ask for, and where the gang may be placed."""
    checkpoint: NotRequired[CheckpointSpecInput]
    """Absent: nothing is saved and a restart begins from scratch."""
    expects: NotRequired[Literal["Training", "Nothing"]]
    """Training (default): exit code 0 of every rank completes the job only if it made a step or a checkpoint, where the spec asks for steps, tokens or checkpoints. Nothing: exit code 0 completes the job in any case; for evaluation, conversion and smoke tests."""
    resumeFrom: NotRequired[ResumeFromInput]
    """Checkpoint from which the next attempt starts, once. Required if no checkpoint can be used, because training never restarts from scratch by itself. Absent, or already used: the newest checkpoint."""
    preflight: NotRequired[PreflightSpecInput]
    """Preflight of a gang before its first rank starts. Coxswain avoids a node that differs from its peers, and does not charge the restart budget. Absent: the value of the runtime, else level Quick."""
    restartPolicy: NotRequired[RestartPolicyInput]
    """How often the gang restarts after failures, and how."""
    failurePolicy: NotRequired[FailurePolicyInput]
    """Rules and budgets for failures. With a policy, the delay before a restart grows by 0, 0, 30 s, 2, 8 and 15 min while no checkpoint is saved, and restartPolicy.delaySeconds is ignored. Absent: the value of the runtime, else only restartPolicy."""
    terminationGracePeriodSeconds: NotRequired[int]
    """Time to save after SIGTERM before SIGKILL."""
    suspend: NotRequired[bool]
    """true: save, stop and hold; layout and gpus may change meanwhile. false: run."""
    cancel: NotRequired[bool]
    """true: stop for good. One-way."""


class TrainingSpec(TypedDict):
    steps: NotRequired[int]
    """Steps after which the job is complete. Alternative: tokens."""
    tokens: NotRequired[int]
    """Alternative to steps: as many steps as process this many tokens; a step has globalBatchSize times sequenceLength tokens."""
    globalBatchSize: int
    """Samples per step over all data-parallel ranks."""
    batchRampUp: NotRequired[BatchRampUp]
    """The batch grows to globalBatchSize in the first steps. Predictions are for the full batch. Absent: every step has globalBatchSize."""
    microBatchSize: NotRequired[int]
    """Samples per forward pass of one rank. Absent: 1, or what the planner finds best where it chooses the layout."""
    optimizer: NotRequired[OptimizerSpec]
    """Absent: the default of the engine; AdamW for engine reference."""
    schedule: NotRequired[LearningRateSchedule]
    """Absent: the default of the engine; cosine for engine reference."""
    learningRate: float
    """Highest learning rate of the schedule."""
    minLearningRate: float
    """Learning rate at the end of the schedule."""
    warmupSteps: int
    """First steps, in which the rate rises from 0."""
    weightDecay: float
    """Weight decay of the optimizer."""
    seed: int
    """Seed of all random numbers of the training."""
    precision: Literal["fp32", "bf16"]
    """Number format of weights and activations in the model. Matrix products in fewer bits: layout.kernel.precision."""
    lora: NotRequired[LoraSpec]
    """Absent: all weights are trained."""
    packing: NotRequired[SequencePacking]
    """Documents are packed into samples of sequenceLength tokens, and no token attends to another document. Absent: the engine decides, and attention is priced over the whole sample."""


class TrainingSpecInput(TypedDict):
    steps: NotRequired[int]
    """Steps after which the job is complete. Alternative: tokens."""
    tokens: NotRequired[int]
    """Alternative to steps: as many steps as process this many tokens; a step has globalBatchSize times sequenceLength tokens."""
    globalBatchSize: int
    """Samples per step over all data-parallel ranks."""
    batchRampUp: NotRequired[BatchRampUpInput]
    """The batch grows to globalBatchSize in the first steps. Predictions are for the full batch. Absent: every step has globalBatchSize."""
    microBatchSize: NotRequired[int]
    """Samples per forward pass of one rank. Absent: 1, or what the planner finds best where it chooses the layout."""
    optimizer: NotRequired[OptimizerSpecInput]
    """Absent: the default of the engine; AdamW for engine reference."""
    schedule: NotRequired[LearningRateScheduleInput]
    """Absent: the default of the engine; cosine for engine reference."""
    learningRate: NotRequired[float]
    """Highest learning rate of the schedule."""
    minLearningRate: NotRequired[float]
    """Learning rate at the end of the schedule."""
    warmupSteps: NotRequired[int]
    """First steps, in which the rate rises from 0."""
    weightDecay: NotRequired[float]
    """Weight decay of the optimizer."""
    seed: NotRequired[int]
    """Seed of all random numbers of the training."""
    precision: NotRequired[Literal["fp32", "bf16"]]
    """Number format of weights and activations in the model. Matrix products in fewer bits: layout.kernel.precision."""
    lora: NotRequired[LoraSpecInput]
    """Absent: all weights are trained."""
    packing: NotRequired[SequencePackingInput]
    """Documents are packed into samples of sequenceLength tokens, and no token attends to another document. Absent: the engine decides, and attention is priced over the whole sample."""


class ValueRange(TypedDict):
    min: float
    max: float


class VerificationFinding(TypedDict):
    kind: Literal["damaged", "incomplete", "suspect", "unverifiable"]
    """What the finding means; the same words as verdict."""
    message: str
    """What is wrong, and with which tensor or file."""


class Webhook(TypedDict):
    id: str
    url: str
    events: list[Literal["incident.opened", "incident.acted", "incident.closed", "job.needsPerson", "job.ended"]]
    form: Literal["Standard", "Slack", "Email"]
    """Standard: JSON as Standard Webhooks lays it out. Slack: a text for an incoming webhook of Slack. Email: a mail; the form of every mailto: URL."""
    state: Literal["active", "disabled"]
    """disabled: nothing is sent until it is enabled again."""
    disabledReason: str | None
    failures: int
    """Attempts in a row that failed, of all messages together."""
    failingSince: str | None
    waiting: int
    """Messages that have not arrived and are tried again."""
    leftOut: int
    """Messages that were never queued, because too many waited."""
    previousSecretUntil: str | None
    """Until then messages are signed with the secret before, too."""
    createdAt: str


class WebhookCreateInput(TypedDict):
    url: str
    """Where messages are sent: https, without user, password and fragment, at a public address; or mailto: and one mail address."""
    events: NotRequired[list[Literal["incident.opened", "incident.acted", "incident.closed", "job.needsPerson", "job.ended"]]]
    """Absent: all."""
    form: NotRequired[Literal["Standard", "Slack", "Email"]]
    """Standard: JSON as Standard Webhooks lays it out. Slack: a text for an incoming webhook of Slack. Email: a mail; the form of every mailto: URL."""


class WebhookCreated(TypedDict):
    id: str
    url: str
    events: list[Literal["incident.opened", "incident.acted", "incident.closed", "job.needsPerson", "job.ended"]]
    form: Literal["Standard", "Slack", "Email"]
    """Standard: JSON as Standard Webhooks lays it out. Slack: a text for an incoming webhook of Slack. Email: a mail; the form of every mailto: URL."""
    state: Literal["active", "disabled"]
    """disabled: nothing is sent until it is enabled again."""
    disabledReason: str | None
    failures: int
    """Attempts in a row that failed, of all messages together."""
    failingSince: str | None
    waiting: int
    """Messages that have not arrived and are tried again."""
    leftOut: int
    """Messages that were never queued, because too many waited."""
    previousSecretUntil: str | None
    """Until then messages are signed with the secret before, too."""
    createdAt: str
    secret: str
    """`whsec_` and base64. Shown once."""


class WebhookDelivery(TypedDict):
    id: str
    """As the header `webhook-id` has it: the same in each attempt."""
    event: str
    state: Literal["waiting", "delivered", "failed"]
    attempts: int
    nextAttemptAt: str | None
    """null: it has ended."""
    lastOutcome: str | None
    """Of the last attempt: a status of HTTP, or why there was none. Never what the endpoint wrote."""
    createdAt: str
    endedAt: str | None


class WebhookDeliveryList(TypedDict):
    items: list[WebhookDelivery]
    """Newest first, at most 200."""


class WebhookList(TypedDict):
    items: list[Webhook]


class WebhookRotateInput(TypedDict):
    overlapSeconds: NotRequired[int]
    """For how long messages are signed with the old secret too; 0: not at all."""


class WeightedPath(TypedDict):
    path: str
    """File, directory or prefix of files inside the claim."""
    weight: float
    """Samples are drawn in proportion to it."""


class WeightedPathInput(TypedDict):
    path: str
    """File, directory or prefix of files inside the claim."""
    weight: NotRequired[float]
    """Samples are drawn in proportion to it."""


class WhoAmI(TypedDict):
    name: str
    role: Literal["viewer", "submitter", "operator", "admin", "clusterAdmin"]
    """The highest of all that it has."""
    project: str | None
    """The only project that it belongs to; null: several, or every one."""
    kind: Literal["person", "service", "serviceAccount", "command"]
    memberships: list[WhoAmIMembershipsItem]
    """Projects that it belongs to, by name; none for cluster administrators, who may use every one."""
    logLink: NotRequired[str]
    """Address of the whole logs in another system, with {namespace}, {job}, {attempt} and {rank} to be replaced; absent: none is configured."""
    jobLinks: NotRequired[list[JobLink]]
    """Links from the page of a job to other systems, such as TensorBoard or Grafana; absent: none is configured."""


class WhoAmIMembershipsItem(TypedDict):
    project: str
    role: Literal["viewer", "submitter", "operator", "admin"]
