import { brokenIf, type OptionRule } from './option-rule.ts';

/** Rules about the pipeline other than degrees. */
export const pipelineRules: readonly OptionRule[] = [
  {
    name: 'scheduleHasItsOptions',
    source: 'PyTorch, SkipPipe, GNNPipe',
    statement:
      'schedule-file and partial-paths name a scheduleFile, partial-paths a skipRatio, graph-chunks at least as many graphChunks as stages; no other schedule has them',
    check: ({ pipeline, pipelineParallelDegree: stages }) => {
      const schedule = pipeline?.schedule;
      const chunks = pipeline?.graphChunks;
      return [
        ...brokenIf(
          (schedule === 'schedule-file' || schedule === 'partial-paths') && pipeline?.scheduleFile === undefined,
          'pipeline/scheduleFile',
          () =>
            `pipeline.schedule ${String(schedule)} needs pipeline.scheduleFile, the file that lists the passes of each rank`,
        ),
        ...brokenIf(
          schedule === 'partial-paths' && pipeline?.skipRatio === undefined,
          'pipeline/skipRatio',
          () => 'pipeline.schedule partial-paths changes what is trained; set pipeline.skipRatio',
        ),
        ...brokenIf(
          schedule !== 'partial-paths' && pipeline?.skipRatio !== undefined,
          'pipeline/skipRatio',
          () => `pipeline.skipRatio ${String(pipeline?.skipRatio)} is only for schedule partial-paths; remove it`,
        ),
        ...brokenIf(
          schedule === 'graph-chunks' && (chunks ?? 0) < stages,
          'pipeline/graphChunks',
          () =>
            `pipeline.graphChunks ${chunks ?? '(absent)'} must be at least pipelineParallelDegree ${stages}; the nearest is ${stages}`,
        ),
        ...brokenIf(
          schedule !== 'graph-chunks' && chunks !== undefined,
          'pipeline/graphChunks',
          () => `pipeline.graphChunks ${String(chunks)} is only for schedule graph-chunks; remove it`,
        ),
      ];
    },
  },
  {
    name: 'protectedStagesLeaveSomeToSkip',
    source: 'SkipPipe',
    statement: 'partial-paths: at most the stages that are not protected can be skipped',
    check: ({ pipeline, pipelineParallelDegree: stages }) => {
      const skipped = Math.round((pipeline?.skipRatio ?? 0) * stages);
      const free = stages - (pipeline?.protectedStages ?? 0);
      return brokenIf(
        skipped > free,
        'pipeline/skipRatio',
        () =>
          `pipeline.skipRatio ${String(pipeline?.skipRatio)} of ${stages} stages is ${skipped}, but only ${free} are not protected; ` +
          `the nearest legal share is ${shareOf(Math.max(0, free), stages)}`,
      );
    },
  },
  {
    name: 'interleavedPairNeedsOverlap',
    source: 'Megatron-LM',
    statement: 'interleaved-1f1b on two stages needs overlapped pipeline transfers',
    check: ({ pipeline, communication, pipelineParallelDegree: stages }) => {
      const isInterleaved =
        (pipeline?.chunksPerRank ?? 1) > 1 && (pipeline?.schedule ?? 'interleaved-1f1b') === 'interleaved-1f1b';
      return brokenIf(
        isInterleaved && stages === 2 && communication?.overlapPipelineTransfers === false,
        'communication/overlapPipelineTransfers',
        () =>
          'communication.overlapPipelineTransfers false with interleaved-1f1b requires pipelineParallelDegree 3 or more, not 2; set overlapPipelineTransfers to true',
      );
    },
  },
];

/** Rounded to six digits, which distinguish all shares that a layout can have. */
function shareOf(part: number, whole: number): number {
  return Number((part / whole).toFixed(6));
}
