/** Compares the planner's first answer with published layouts, both predicted. If a published layout is faster, the search space lacks a choice. */
import { parsePlanRequest, plan, type CandidateLayout, type PlanAnswer, type RunFacts } from '@coxswain/planner';
import { CALIBRATION, constantsFor, predictStepTime } from '@coxswain/planner/calibration';
import { interpretRow, type MeasuredRow } from '../rows/index.ts';

/** A published job: id of the row whose layout is predicted fastest, and the predicted seconds per step of that layout. */
export interface PublishedJob {
  readonly id: string;
  /** The layout among those of one job that is predicted fastest. */
  readonly run: RunFacts;
  readonly publishedS: number;
}

/** A published job beside the planner's first answer to the same request. */
export interface JobAgainstPublished extends PublishedJob {
  /** Seconds of the planner's first answer; undefined if nothing fits. */
  readonly answeredS: number | undefined;
  /** How much longer the first answer takes than the published layout, both predicted, in percent; negative where it is faster. */
  readonly behindPct: number;
  /** Options of the published layout that the first answer does not use. */
  readonly lacks: readonly string[];
}

/** NVIDIA's own lines: Megatron-Bridge, NeMo and the submissions to MLPerf made with it. */
const OWN_LINES = /^(megatron-bridge|nemo)/;

/** One entry per model, cluster, batch, length, format and release. */
export function publishedJobs(rows: readonly MeasuredRow[]): readonly PublishedJob[] {
  const jobs = new Map<string, PublishedJob>();
  for (const row of rows) {
    const read = interpretRow(row);
    if ('unpredicted' in read || row.iterTimeS === undefined || !isComparable(read.run)) continue;
    const { run } = read;
    const publishedS = predictStepTime(
      asAnswersAre(run),
      constantsFor(CALIBRATION, run.cluster.gpu.silicon, run.stack),
    ).stepTimeS;
    const key = JSON.stringify([
      run.model,
      run.cluster,
      run.globalBatchSize,
      run.sequenceLength,
      run.precision,
      run.stack,
    ]);
    const known = jobs.get(key);
    if (known === undefined || publishedS < known.publishedS) jobs.set(key, { id: row.id, run, publishedS });
  }
  return [...jobs.values()];
}

/** The run without options that requests to the planner cannot state: quantised products besides linear layers. */
const asAnswersAre = (run: RunFacts): RunFacts => ({
  ...run,
  alsoIn8Bits: { attention: false, outputProjection: false },
});

/** Adapters and dropped tokens change what is computed: no layout makes up for them. */
function isComparable({ stack, loraRank, candidate, cluster }: RunFacts): boolean {
  return OWN_LINES.test(stack) && loraRank === 0 && candidate.expertCapacity === undefined && cluster.gpus > 1;
}

/**
 * Plans a published job and compares the first answer with the published layout.
 *
 * `behindPct` is Infinity if the planner finds no layout that fits.
 *
 * @throws DomainError INVALID_REQUEST if the planner rejects the job's request
 */
export function againstPublished(job: PublishedJob): JobAgainstPublished {
  const answer = answerOf(job.run);
  const answeredS = answer.best?.prediction.stepTimeS;
  return {
    ...job,
    answeredS,
    behindPct: answeredS === undefined ? Infinity : 100 * (answeredS / job.publishedS - 1),
    lacks: lacksOf(job.run, answer),
  };
}

function answerOf({ model, cluster, globalBatchSize, sequenceLength, precision, stack }: RunFacts): PlanAnswer {
  const { gpu, gpus, gpusPerNode, scaleUpDomainGpus, scaleOutGbPerS, nicKind } = cluster;
  return plan(
    parsePlanRequest({
      modelShape: model,
      cluster: {
        gpu: gpu.name,
        gpus,
        gpusPerNode: Math.min(gpus, gpusPerNode),
        scaleUpDomainGpus: Math.min(gpus, scaleUpDomainGpus),
        scaleOutGbPerS,
        nicKind,
      },
      globalBatchSize,
      sequenceLength,
      precision,
      stack,
      top: 1,
    }),
  );
}

function lacksOf({ candidate, gradientBytes, momentBytes }: RunFacts, { best }: PlanAnswer): readonly string[] {
  const layout = best?.layout;
  const used: Readonly<Record<string, boolean>> = {
    'tensor overlap': layout?.communication?.overlapTensorParallel ?? false,
    'expert overlap': layout?.communication?.overlapExpertParallel ?? false,
    'CUDA graphs': (layout?.kernel?.cudaGraphs ?? 'none') === candidate.cudaGraphs,
    dispatcher: (layout?.expert?.dispatcher ?? 'alltoall') === candidate.dispatcher,
  };
  const wanted: readonly (readonly [string, boolean])[] = [
    ['tensor overlap', candidate.overlapTensor && candidate.tensor > 1],
    ['expert overlap', candidate.overlapExpert && candidate.expert > 1],
    ['CUDA graphs', candidate.cudaGraphs !== 'none'],
    ['dispatcher', isFlex(candidate)],
  ];
  return [
    ...wanted.filter(([option, isWanted]) => isWanted && used[option] !== true).map(([option]) => option),
    ...(gradientBytes === 2 ? ['bf16 gradients'] : []),
    ...(momentBytes === undefined ? [] : ['bf16 moments']),
  ];
}

function isFlex({ dispatcher, expert }: CandidateLayout): boolean {
  return expert > 1 && (dispatcher === 'deepep' || dispatcher === 'hybridep');
}
