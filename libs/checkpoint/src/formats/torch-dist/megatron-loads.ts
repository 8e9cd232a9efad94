/** Which layouts load saves of Megatron-LM (megatron/core/optimizer/distrib_optimizer.py). Weights are divided anew for every layout. */
import { FORMAT_OF_SHARDING, type ParallelLayout } from '@coxswain/layout';
import type { ChangedDegree, LoadAnswer, LoadQuestion } from '../checkpoint-format.ts';
import { CHUNKS, DATA, EXPERT, PIPELINE, TENSOR } from '../degrees.ts';

/** Ranks that divide a bucket make it larger than its usual 40 million elements beyond this degree (DistributedDataParallelConfig). */
const LARGEST_USUAL_BUCKET_RANKS = 40;

/** Optimizer state that is stored parameter by parameter. */
const FREE = new Set(['fully_reshardable', 'unsharded', 'none']);

const FIRST_SAVE =
  'go on with the degrees that saved it, convert it ("coxswain checkpoint convert --optimizer fully_reshardable", models without experts), or save with layout.checkpointPolicy.optimizerReshard full before they change';

/** Of `torch_dist`. What decides is how the save stores the optimizer, not what its job asks for now. */
export function torchDistLoads(question: LoadQuestion): LoadAnswer {
  if (formatOf(question.wanted) === 'fsdp_dtensor')
    return {
      problem: 'needs conversion',
      changed: [],
      reason: 'the layout trains with Megatron-FSDP, which loads fsdp_dtensor: convert it',
      tool: 'tools/checkpoint/checkpoint_inspector.py convert-torch-dist-to-fsdp-dtensor',
    };
  const sharding = question.optimizerSharding ?? statedSharding(question.savedLayout);
  if (sharding === 'fully_sharded_model_space' && !loadsFlatRanges(question.release))
    return {
      problem: 'needs conversion',
      changed: [],
      reason:
        'Megatron-Core 0.16 and later refuse its optimizer (fully_sharded_model_space): load it with 0.15 and save it with layout.checkpointPolicy.optimizerReshard full',
      tool: 'Megatron-Core 0.15',
    };
  if (FREE.has(sharding) || sharding === 'fully_sharded_model_space')
    return { changed: question.changed([TENSOR, PIPELINE, EXPERT]), reason: 'Megatron-LM divides its optimizer anew' };
  const changed = question.changed([TENSOR, PIPELINE, EXPERT, CHUNKS]);
  return changed.length === 0
    ? {
        changed,
        reason: `Megatron-LM divides its optimizer (${sharding}) among data-parallel ranks anew`,
        ...buckets(question),
      }
    : { problem: 'cannot', changed, reason: FIRST_SAVE };
}

/** Releases since 0.16 refuse ranges of flattened tensors. */
function loadsFlatRanges(release: string | undefined): boolean {
  const minor = /^core_v0\.(\d{1,3})(?:\.|$)/.exec(release ?? '')?.[1];
  return minor !== undefined && Number(minor) < 16;
}

/** Buckets grow with the number of ranks that share them, and the optimizer is stored bucket by bucket. */
function buckets({ changed }: LoadQuestion): Pick<LoadAnswer, 'warnings'> {
  const [data] = changed([DATA]);
  if (data === undefined || Math.max(data.was, data.becomes) <= LARGEST_USUAL_BUCKET_RANKS) return {};
  return {
    warnings: [
      `Beyond ${LARGEST_USUAL_BUCKET_RANKS} data-parallel ranks Megatron-LM makes other buckets, and then refuses the optimizer: set --ddp-bucket-size as it was when the checkpoint was saved.`,
    ],
  };
}

/** By the words of the job that saved it; by the default of Megatron-LM if there are none. */
function statedSharding(saved: ParallelLayout | undefined): string {
  return saved?.checkpointPolicy?.optimizerReshard === 'full' ? 'fully_reshardable' : 'dp_reshardable';
}

/** Of `fsdp_dtensor`. */
export function fsdpDtensorLoads({ wanted, changed }: LoadQuestion): LoadAnswer {
  const format = formatOf(wanted);
  return format === undefined || format === 'fsdp_dtensor'
    ? { changed: changed([TENSOR, EXPERT, DATA]), reason: 'PyTorch divides its tensors anew' }
    : {
        problem: 'cannot',
        changed: [],
        reason: `no tool converts it to ${format}: go on with layout.states.implementation megatron-fsdp`,
      };
}

/** Of the format that Megatron-LM calls `torch`: one file a position. */
export function legacyLoads({ changed: changedOf }: LoadQuestion): LoadAnswer {
  const changed: readonly ChangedDegree[] = changedOf([TENSOR, PIPELINE, EXPERT, CHUNKS]);
  return changed.length === 0
    ? { changed, reason: 'each rank reads the file of its position' }
    : {
        problem: 'needs conversion',
        changed,
        reason: 'convert its weights; its optimizer is lost',
        tool: 'tools/checkpoint/convert.py of Megatron-LM',
      };
}

/** The format that the layout saves; undefined: it does not say. */
function formatOf({ checkpointPolicy, states }: ParallelLayout): string | undefined {
  if (checkpointPolicy?.format !== undefined) return checkpointPolicy.format;
  const { implementation } = states ?? {};
  if (implementation === undefined) return undefined;
  return Object.hasOwn(FORMAT_OF_SHARDING, implementation)
    ? FORMAT_OF_SHARDING[implementation as keyof typeof FORMAT_OF_SHARDING]
    : 'torch_dist';
}
