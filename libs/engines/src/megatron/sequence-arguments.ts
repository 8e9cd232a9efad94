/** Renders the division of a sample’s tokens for Megatron-LM. */
import { type MegatronJob, flag, kept, note, refuse, switchOf, type RenderedField } from './rendered-field.ts';

type Plan = NonNullable<MegatronJob['layout']['sequence']>;
type Algorithm = NonNullable<Plan['contextAlgorithm']>;

/**
 * Spelled as Transformer Engine reads them (attention/dot_product_attention/context_parallel.py): the help text of --cp-comm-type offers `allgather`, which the
 * parser takes, as it takes any text, and at which the first forward pass ends.
 */
const COMM_TYPES: Readonly<Partial<Record<Algorithm, string>>> = {
  ring: 'p2p',
  'dist-flash': 'p2p',
  allgather: 'all_gather',
  ulysses: 'a2a',
  'ulysses-ring': 'a2a+p2p',
};

/** Arguments for the fields of `layout.sequence`. */
export function sequenceArguments(job: MegatronJob): readonly RenderedField[] {
  const { sequence: plan, tensorParallelDegree } = job.layout;
  if (plan === undefined) return [];
  return [
    ...(plan.sequenceParallel === true && tensorParallelDegree === 1
      ? refuse(
          'sequence-parallel-needs-tensor',
          'layout.sequence.sequenceParallel',
          'Megatron-LM turns sequenceParallel off where tensorParallelDegree is 1',
          'leave sequence.sequenceParallel out',
        )
      : switchOf('layout.sequence.sequenceParallel', '--sequence-parallel', plan.sequenceParallel)),
    ...algorithmArguments(job, plan),
    ...layerKindArguments(job, plan),
    ...causalBalance(plan),
    ...dynamicArguments(plan),
  ];
}

function algorithmArguments({ layout }: MegatronJob, plan: Plan): readonly RenderedField[] {
  const ofAttention = plan.perLayerKind?.attention;
  const field =
    ofAttention === undefined ? 'layout.sequence.contextAlgorithm' : 'layout.sequence.perLayerKind.attention';
  const algorithm = ofAttention ?? plan.contextAlgorithm;
  const overruled =
    ofAttention !== undefined && plan.contextAlgorithm !== undefined ? kept('layout.sequence.contextAlgorithm') : [];
  const inner = plan.ulyssesDegree;
  if (algorithm === undefined) return withoutRing(inner);
  const type = COMM_TYPES[algorithm];
  if (type === undefined)
    return refuse(
      'context-algorithm-of-transformer-engine',
      field,
      `Transformer Engine has no ${algorithm}`,
      'use ring, allgather, ulysses or ulysses-ring',
    );
  const context = layout.contextParallelDegree ?? 1;
  if (context === 1 && algorithm === 'ulysses-ring')
    return refuse(
      'two-levels-need-context',
      field,
      'ulysses-ring has two levels of ranks, and contextParallelDegree is 1',
      'give contextParallelDegree, or leave it out',
    );
  return [
    ...overruled,
    ...flag(field, '--cp-comm-type', type),
    ...(algorithm === 'dist-flash' ? note(field, BALANCED_BY_HEAD_AND_TAIL) : []),
    ...(algorithm === 'ulysses-ring' && context > 1 ? levels(inner, context) : withoutRing(inner)),
  ];
}

const BALANCED_BY_HEAD_AND_TAIL =
  'dist-flash runs as the P2P ring of Transformer Engine, which gives each rank a chunk from the head and one from the tail of a sample, without helpers';

function withoutRing(inner: number | undefined): readonly RenderedField[] {
  if (inner === undefined) return [];
  if (inner === 1) return kept('layout.sequence.ulyssesDegree');
  return refuse(
    'ulysses-degree-needs-both',
    'layout.sequence.ulyssesDegree',
    `sequence.ulyssesDegree ${inner} is the inner part of ulysses-ring, which contextAlgorithm is not`,
    'leave sequence.ulyssesDegree out, or set contextAlgorithm to ulysses-ring',
  );
}

/** Inner and outer size. Without them validate_args exits if a2a+p2p is chosen; a layout rule requires them. */
function levels(inner: number | undefined, context: number): readonly RenderedField[] {
  if (inner === undefined) return [];
  return flag('layout.sequence.ulyssesDegree', '--hierarchical-context-parallel-sizes', inner, context / inner);
}

/** State-space layers exchange heads for tokens, which is all that they can (megatron/core/ssm/mamba_context_parallel.py). */
function layerKindArguments(job: MegatronJob, { perLayerKind }: Plan): readonly RenderedField[] {
  if (perLayerKind === undefined) return [];
  const { stateSpace, linearAttention } = perLayerKind;
  const field = 'layout.sequence.perLayerKind';
  return [
    ...(stateSpace === undefined || stateSpace === 'ulysses'
      ? kept(`${field}.stateSpace`)
      : refuse(
          'state-space-exchanges-heads',
          `${field}.stateSpace`,
          `state-space layers of Megatron-LM are split by ulysses, not by ${stateSpace}`,
          'set it to ulysses, or leave it out',
        )),
    ...(linearAttention === undefined
      ? []
      : refuse(
          'no-linear-attention',
          `${field}.linearAttention`,
          'layers of linear attention are not rendered for Megatron-LM',
          'use engine linear-moe by engine "command"',
        )),
  ];
}

/** Head and tail is how batches are cut (megatron/core/utils.py, get_batch_on_this_cp_rank), and there is no switch for it. */
function causalBalance({ causalBalance: balance, contextAlgorithm }: Plan): readonly RenderedField[] {
  const field = 'layout.sequence.causalBalance';
  if (balance === undefined) return [];
  if (balance === 'head-tail' || balance === 'zigzag') return kept(field);
  if (balance === 'helper' && contextAlgorithm === 'dist-flash') return note(field, BALANCED_BY_HEAD_AND_TAIL);
  return refuse(
    'causal-balance-is-head-tail',
    field,
    `Megatron-LM balances a causal mask by head and tail, not by ${balance}`,
    'use head-tail, or leave sequence.causalBalance out',
  );
}

function dynamicArguments({ dynamic }: Plan): readonly RenderedField[] {
  const field = 'layout.sequence.dynamic';
  if (dynamic === undefined) return [];
  const { method, maxTokensPerRank, degrees, solverCpuCores, perTokenLoss } = dynamic;
  return [
    ...(method === 'hybrid-data-parallel'
      ? flag(`${field}.method`, '--hybrid-context-parallel')
      : refuse('dynamic-is-hybrid', `${field}.method`, `Megatron-LM has no ${method}`, 'use hybrid-data-parallel')),
    ...flag(`${field}.maxTokensPerRank`, '--max-seqlen-per-dp-cp-rank', maxTokensPerRank),
    ...(degrees === 'any'
      ? refuse(
          'dynamic-degrees-are-powers',
          `${field}.degrees`,
          'groups of Megatron-LM have powers of two of ranks',
          'use powers-of-two',
        )
      : kept(`${field}.degrees`)),
    ...(solverCpuCores === undefined || solverCpuCores === 0
      ? kept(`${field}.solverCpuCores`)
      : refuse(
          'dynamic-has-no-solver',
          `${field}.solverCpuCores`,
          'Megatron-LM has no solver beside its ranks',
          'leave it out',
        )),
    ...switchOf(`${field}.perTokenLoss`, '--calculate-per-token-loss', perTokenLoss),
  ];
}
