/** Renders overlap, and the network of each kind of group, for Megatron-LM. */
import { resolveDispatcher } from '@coxswain/layout';
import {
  type MegatronJob,
  flag,
  flagOf,
  kept,
  refuse,
  switchOf,
  type RenderedField,
  variable,
} from './rendered-field.ts';
import { isFsdp, stateImplementation } from './state-arguments.ts';

type Policy = NonNullable<MegatronJob['layout']['communication']>;

const FIELD = 'layout.communication';

/** Arguments for the fields of `layout.communication`. */
export function communicationArguments(job: MegatronJob): readonly RenderedField[] {
  const { communication: policy = {} } = job.layout;
  return [
    ...overlapArguments(job, policy),
    ...expertOverlap(job, policy),
    ...pipelineOverlap(job, policy),
    ...deferred(job, policy),
    ...switchOf(`${FIELD}.switchReduction`, '--use-sharp', policy.switchReduction),
    ...flagOf(`${FIELD}.timeoutMinutes`, '--distributed-timeout-minutes', policy.timeoutMinutes),
    ...groupNetworks(job, policy.groupNetwork),
    ...connections(job),
  ];
}

function overlapArguments(job: MegatronJob, policy: Policy): readonly RenderedField[] {
  const { overlapGradReduce, overlapParamGather, overlapTensorParallel } = policy;
  const isSharded = !['ddp', 'fsdp2'].includes(stateImplementation(job));
  const gathersAlone = overlapParamGather === true && (overlapGradReduce !== true || !isSharded);
  return [
    ...switchOf(`${FIELD}.overlapGradReduce`, '--overlap-grad-reduce', overlapGradReduce),
    ...(gathersAlone
      ? refuse(
          'param-gather-overlaps-with-gradients',
          `${FIELD}.overlapParamGather`,
          'Megatron-LM overlaps the gathering of parameters only with sharded states, and together with that of gradients',
          'set communication.overlapGradReduce to true and states.zeroStage to 1, or leave overlapParamGather out',
        )
      : switchOf(`${FIELD}.overlapParamGather`, '--overlap-param-gather', overlapParamGather)),
    ...(overlapTensorParallel === true && !sequenceIsSplit(job)
      ? refuse(
          'tensor-overlap-needs-sequence-parallel',
          `${FIELD}.overlapTensorParallel`,
          'Megatron-LM overlaps tensor parallelism only where sequenceParallel is on',
          'set sequence.sequenceParallel to true, with tensorParallelDegree above 1',
        )
      : switchOf(`${FIELD}.overlapTensorParallel`, '--tp-comm-overlap', overlapTensorParallel)),
  ];
}

function sequenceIsSplit({ layout }: MegatronJob): boolean {
  return layout.sequence?.sequenceParallel === true && layout.tensorParallelDegree > 1;
}

/** What transformer_config.py asserts where the exchange of experts overlaps. */
function expertOverlap({ layout, shape, spec }: MegatronJob, policy: Policy): readonly RenderedField[] {
  const field = `${FIELD}.overlapExpertParallel`;
  if (policy.overlapExpertParallel !== true) return [];
  const why = [
    [(layout.expert?.expertParallelDegree ?? 1) === 1, 'expert.expertParallelDegree is 1'],
    [resolveDispatcher(layout) === 'allgather', 'the dispatcher is allgather'],
    [spec.training?.precision === 'fp32', 'training.precision is fp32'],
    [layout.memory?.recompute?.mode === 'full', 'recomputation is full'],
    [layout.memory?.recompute?.modules?.includes('moe') === true, 'layers of experts are computed again'],
    [(shape?.mtpLayers ?? 0) > 1, 'there are several MTP layers'],
    [
      layout.pipelineParallelDegree > 1 && (layout.pipeline?.chunksPerRank ?? 1) === 1,
      'the pipeline is not interleaved',
    ],
  ] as const;
  const broken = why.find(([isBroken]) => isBroken);
  if (broken === undefined) return flag(field, '--overlap-moe-expert-parallel-comm');
  return refuse(
    'expert-overlap-needs-exchange',
    field,
    `Megatron-LM cannot overlap the exchange of experts where ${broken[1]}`,
    'leave communication.overlapExpertParallel out',
  );
}

/** On by default with the interleaved schedule; without it validate_args switches it off. */
function pipelineOverlap({ layout }: MegatronJob, policy: Policy): readonly RenderedField[] {
  const field = `${FIELD}.overlapPipelineTransfers`;
  const isInterleaved = (layout.pipeline?.chunksPerRank ?? 1) > 1;
  if (policy.overlapPipelineTransfers === undefined) return [];
  if (policy.overlapPipelineTransfers) {
    if (isInterleaved) return kept(field);
    return refuse(
      'pipeline-overlap-needs-chunks',
      field,
      'Megatron-LM overlaps transfers of a pipeline only where a rank has several chunks',
      'leave it out, or give pipeline.chunksPerRank',
    );
  }
  return isInterleaved ? flag(field, '--no-overlap-p2p-communication') : kept(field);
}

function deferred({ layout, shape }: MegatronJob, policy: Policy): readonly RenderedField[] {
  const field = `${FIELD}.deferEmbeddingGradient`;
  if (policy.deferEmbeddingGradient !== true) return [];
  if (layout.pipelineParallelDegree === 1 || isFsdp({ layout }) || shape?.tiedEmbeddings === true)
    return refuse(
      'deferred-gradient-needs-pipeline',
      field,
      'the gradient of the embedding waits for the drain of a pipeline, with fused accumulation and an output layer of its own',
      'leave communication.deferEmbeddingGradient out',
    );
  return flag(field, '--defer-embedding-wgrad-compute');
}

/**
 * Groups of Megatron-LM for each of ours (megatron/core/parallel_state.py, get_nccl_options): those with members along no farther axis. So what holds for
 * pipelines holds for the groups of the embeddings, and for those over whole models. The group of all ranks has no name there.
 */
const GROUPS = {
  tensor: ['tp', 'ep_tp'],
  context: ['cp', 'tp_cp'],
  expert: ['ep', 'tp_ep_mp'],
  data: ['dp', 'dp_cp', 'tp_dp', 'tp_dp_cp', 'ep_dp'],
  pipeline: ['pp', 'embd', 'pos_embd', 'mp', 'tp_ep_pp'],
} as const;

/** NCCL's transports have two names: RoCE goes over that of InfiniBand. */
const NET_NAMES = { infiniband: 'IB', roce: 'IB', socket: 'Socket' } as const;

const NCCL_FILE = 'nccl.yaml';

/** The variable overrides the configuration of a communicator (NCCL, init.cc). */
const OVERRIDES_GROUPS = 'NCCL_NET';

function groupNetworks({ spec: { engine } }: MegatronJob, networks: Policy['groupNetwork']): readonly RenderedField[] {
  const field = `${FIELD}.groupNetwork`;
  const variables = [...(engine.env ?? []), ...(engine.secretEnv ?? [])];
  if (networks !== undefined && variables.some(({ name }) => name === OVERRIDES_GROUPS))
    return refuse(
      'group-networks-without-nccl-net',
      field,
      `${OVERRIDES_GROUPS} of engine.env would take the place of every network in ${field}`,
      `leave ${OVERRIDES_GROUPS} out, or ${field}`,
    );
  const lines = Object.entries(networks ?? {}).flatMap(([group, network]) =>
    network === undefined
      ? []
      : GROUPS[group as keyof typeof GROUPS].map((name) => `${name}:\n  net_name: ${NET_NAMES[network]}\n`),
  );
  if (lines.length === 0) return kept(field);
  return [
    ...flag(field, '--nccl-communicator-config-path', `$(COXSWAIN_ENGINE_FILES)/${NCCL_FILE}`),
    { kind: 'file', field, path: NCCL_FILE, text: lines.join('') },
  ];
}

/**
 * One connection puts launches of kernels in order. Tensor and context parallelism need that on Hopper and older GPUs (validate_args fails without it).
 * Sharded parameters need several connections, and so does an overlapped exchange of experts. Blackwell and later GPUs need neither.
 */
function connections(job: MegatronJob): readonly RenderedField[] {
  const { layout, isBlackwell } = job;
  const name = 'CUDA_DEVICE_MAX_CONNECTIONS';
  if (isFsdp(job)) return variable('layout.states.implementation', name, '8');
  if (isBlackwell) return [];
  if (layout.communication?.overlapExpertParallel === true)
    return variable(`${FIELD}.overlapExpertParallel`, name, '32');
  if (layout.tensorParallelDegree > 1) return variable('layout.tensorParallelDegree', name, '1');
  return (layout.contextParallelDegree ?? 1) > 1 ? variable('layout.contextParallelDegree', name, '1') : [];
}
