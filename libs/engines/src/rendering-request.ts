/** Answers with the program for a layout when the rest of the job is missing. */
import {
  DEFAULT_MICRO_BATCH_SIZE,
  ENGINES_WITHOUT_PROGRAM,
  type EffectiveSpec,
  type EngineRendering,
  type RenderingRequest,
  TrainingJobSpec,
} from '@coxswain/api-types';
import { engineSupport, type LayoutEngine, type ParallelLayout } from '@coxswain/layout';
import { judgedRendering, refusedRendering } from './rendering-answer.ts';
import { isEngineName } from './engine-list.ts';

/** Assumed values of missing fields. */
const ASSUMED = { steps: 1000, sequenceLength: 4096, program: ['python3', 'train.py'], image: 'assumed' } as const;

/** The program for a layout on an engine; notes list what was assumed. Pure; takes milliseconds. */
export function renderRequest(request: RenderingRequest): EngineRendering {
  return render(request, true);
}

/** With `isSaving`, checkpoints are assumed if the request has none. */
function render(request: RenderingRequest, isSaving: boolean): EngineRendering {
  const { engine, gpusPerPod, nicClasses, gpu } = request;
  if (!isEngineName(engine.name)) return neverRendered(engine.name, request.layout);
  const { spec: whole, notes } = withAssumptions(request, isSaving);
  const parsed = TrainingJobSpec.safeParse(whole);
  if (!parsed.success) return notASpec(engine.name, parsed.error.issues[0]);
  const spec: EffectiveSpec = { ...parsed.data, layout: request.layout };
  const context = {
    ...(gpusPerPod === undefined ? {} : { gpusPerPod }),
    ...(nicClasses === undefined ? {} : { nicClasses }),
    ...(gpu === undefined ? {} : { gpu }),
  };
  const rendering = judgedRendering(spec, context);
  // The request has no checkpoints, and the engine’s checkpoints would be refused: it is rendered without them.
  if (rendering.refusal?.field === 'checkpoint' && request.checkpoint === undefined && isSaving)
    return renderWithoutCheckpoints(request, rendering.refusal.why);
  if (rendering.program === null) return rendering;
  return { ...rendering, program: { ...rendering.program, notes: [...notes, ...rendering.program.notes] } };
}

function renderWithoutCheckpoints(request: RenderingRequest, why: string): EngineRendering {
  const rendering = render(request, false);
  const { program } = rendering;
  if (program === null) return rendering;
  return {
    ...rendering,
    program: { ...program, notes: [`assumed: it saves nothing, since ${why}`, ...program.notes] },
  };
}

interface Whole {
  readonly spec: object;
  /** What was assumed, in a sentence each. */
  readonly notes: readonly string[];
}

function withAssumptions(
  { engine, layout, model, training, data, initialWeights, checkpoint }: RenderingRequest,
  isSaving: boolean,
): Whole {
  const notes: string[] = [];
  // The program of engine command receives nothing of the job, so only the program itself can be assumed in a way that matters.
  const isRead = (sentence: string): boolean => engine.name !== 'command' || sentence.startsWith('engine.command ');
  const assume = <T>(value: T, sentence: string): T => {
    if (isRead(sentence)) notes.push(`assumed: ${sentence}`);
    return value;
  };
  const { microBatchSize = DEFAULT_MICRO_BATCH_SIZE } = training ?? {};
  const globalBatchSize = leastBatch(layout, microBatchSize);
  const needsProgram = isEngineName(engine.name) && ENGINES_WITHOUT_PROGRAM.includes(engine.name);
  const spec = {
    engine: {
      image: ASSUMED.image,
      ...engine,
      ...(needsProgram && engine.command === undefined
        ? { command: assume([...ASSUMED.program], `engine.command is ${ASSUMED.program.join(' ')}`) }
        : {}),
    },
    layout,
    ...(model === undefined
      ? {}
      : {
          model: {
            ...model,
            sequenceLength:
              model.sequenceLength ??
              assume(ASSUMED.sequenceLength, `model.sequenceLength is ${ASSUMED.sequenceLength}`),
          },
        }),
    training: {
      ...training,
      ...(training?.steps === undefined && training?.tokens === undefined
        ? { steps: assume(ASSUMED.steps, `training.steps is ${ASSUMED.steps}`) }
        : {}),
      globalBatchSize:
        training?.globalBatchSize ??
        assume(
          globalBatchSize,
          `training.globalBatchSize is ${globalBatchSize}, the least that fills the pipeline of every replica`,
        ),
    },
    data: data ?? assumedData(engine, assume),
    ...(initialWeights === undefined ? {} : { initialWeights }),
    ...(checkpoint === undefined && !isSaving
      ? {}
      : {
          checkpoint:
            checkpoint ?? assume({ claimName: 'checkpoints' }, 'it saves every 100 steps into claim checkpoints'),
        }),
  };
  return { spec, notes };
}

/** Engine reference knows no random tokens, nor does TorchTitan before 0.3. */
function assumedData(
  { name, release }: RenderingRequest['engine'],
  assume: <T>(value: T, sentence: string) => T,
): object {
  if (name === 'reference')
    return assume({ claimName: 'data', path: 'corpus.txt' }, 'data is corpus.txt in claim data');
  if (name === 'torchtitan' && release?.startsWith('v0.2') === true)
    return assume(
      { claimName: 'data', path: 'corpus', format: 'jsonl', tokenizer: { path: 'tokenizer' } },
      'data is JSON lines in corpus of claim data, and its tokenizer in tokenizer',
    );
  return assume({ format: 'mock' }, 'data is random tokens (data.format mock)');
}

function leastBatch(layout: ParallelLayout, microBatchSize: number): number {
  return layout.dataParallelDegree * microBatchSize * layout.pipelineParallelDegree;
}

function notASpec(
  engine: string,
  issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined,
): EngineRendering {
  const field = issue?.path.map(String).join('.') ?? '';
  const fallback = 'docs/reference/generated/job-words.md and docs/reference/engines.md list the values of each field';
  return refusedRendering(engine, { rule: 'job-is-valid', field, why: `${field}: ${issue?.message ?? ''}`, fallback });
}

/** Engines that jobs can name and that take more than degrees, as ways out. */
const WAYS_OUT = ['megatron-lm', 'megatron-bridge', 'torchtitan', 'deepspeed', 'hugging-face'] as const;
/** Where a release of an engine that is rendered is what was asked for. */
const RELEASE_INSTEAD: Partial<Record<LayoutEngine, string>> = {
  'torchtitan-toml': 'use engine torchtitan at a release up to v0.2.2, which reads TOML',
};

function neverRendered(engine: LayoutEngine, layout: ParallelLayout): EngineRendering {
  const able = WAYS_OUT.filter((name) => engineSupport(name, layout).kind === 'supported');
  const elsewhere =
    able.length === 0 ? '' : `, or use ${able.slice(0, 2).join(' or ')}, which supports all of this layout`;
  return refusedRendering(engine, {
    rule: 'engine-not-rendered',
    field: 'engine.name',
    why: `engine "${engine}" is known for layouts only; Coxswain does not render its options`,
    fallback:
      RELEASE_INSTEAD[engine] ??
      `start its program by engine custom, whose arguments hold placeholders for the layout${elsewhere}`,
  });
}
