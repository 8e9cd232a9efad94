import { type LegalCase, type RuleCase, showRules } from '../testing/rule-cases.ts';
import { pipelineRules } from './pipeline-rules.ts';

const SCHEDULE_FILE = 'schedule.json';

const broken: readonly RuleCase[] = [
  {
    rule: 'scheduleHasItsOptions',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'schedule-file' } },
    message: 'pipeline.schedule schedule-file needs pipeline.scheduleFile, the file that lists the passes of each rank',
    waysOut: [{ layout: { pipeline: { schedule: 'schedule-file', scheduleFile: SCHEDULE_FILE } } }],
  },
  {
    rule: 'scheduleHasItsOptions',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'partial-paths', skipRatio: 0.25 } },
    message: 'pipeline.schedule partial-paths needs pipeline.scheduleFile, the file that lists the passes of each rank',
    waysOut: [{ layout: { pipeline: { schedule: 'partial-paths', skipRatio: 0.25, scheduleFile: SCHEDULE_FILE } } }],
  },
  {
    rule: 'scheduleHasItsOptions',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'partial-paths', scheduleFile: SCHEDULE_FILE } },
    message: 'pipeline.schedule partial-paths changes what is trained; set pipeline.skipRatio',
    waysOut: [{ layout: { pipeline: { schedule: 'partial-paths', scheduleFile: SCHEDULE_FILE, skipRatio: 0.25 } } }],
  },
  {
    rule: 'scheduleHasItsOptions',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: '1f1b', skipRatio: 0.25 } },
    message: 'pipeline.skipRatio 0.25 is only for schedule partial-paths; remove it',
    waysOut: [{ layout: { pipeline: { schedule: '1f1b' } } }],
  },
  {
    rule: 'scheduleHasItsOptions',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'graph-chunks', graphChunks: 3 } },
    message: 'pipeline.graphChunks 3 must be at least pipelineParallelDegree 4; the nearest is 4',
    waysOut: [{ layout: { pipeline: { schedule: 'graph-chunks', graphChunks: 4 } } }],
  },
  {
    rule: 'scheduleHasItsOptions',
    layout: { pipelineParallelDegree: 4, pipeline: { schedule: 'graph-chunks' } },
    message: 'pipeline.graphChunks (absent) must be at least pipelineParallelDegree 4; the nearest is 4',
    waysOut: [{ layout: { pipeline: { schedule: 'graph-chunks', graphChunks: 4 } } }],
  },
  {
    rule: 'scheduleHasItsOptions',
    layout: { pipelineParallelDegree: 4, pipeline: { graphChunks: 8 } },
    message: 'pipeline.graphChunks 8 is only for schedule graph-chunks; remove it',
    waysOut: [{ without: 'pipeline' }],
  },
  {
    rule: 'protectedStagesLeaveSomeToSkip',
    layout: {
      pipelineParallelDegree: 4,
      pipeline: { schedule: 'partial-paths', scheduleFile: SCHEDULE_FILE, skipRatio: 0.5, protectedStages: 3 },
    },
    message: 'pipeline.skipRatio 0.5 of 4 stages is 2, but only 1 are not protected; the nearest legal share is 0.25',
    waysOut: [
      {
        layout: {
          pipeline: { schedule: 'partial-paths', scheduleFile: SCHEDULE_FILE, skipRatio: 0.25, protectedStages: 3 },
        },
      },
    ],
  },
  {
    rule: 'protectedStagesLeaveSomeToSkip',
    layout: {
      pipelineParallelDegree: 256,
      pipeline: { schedule: 'partial-paths', scheduleFile: SCHEDULE_FILE, skipRatio: 0.1, protectedStages: 249 },
    },
    facts: { layers: 256 },
    message:
      'pipeline.skipRatio 0.1 of 256 stages is 26, but only 7 are not protected; the nearest legal share is 0.027344',
    waysOut: [
      {
        layout: {
          pipeline: {
            schedule: 'partial-paths',
            scheduleFile: SCHEDULE_FILE,
            skipRatio: 0.027344,
            protectedStages: 249,
          },
        },
      },
    ],
  },
  {
    rule: 'interleavedPairNeedsOverlap',
    layout: {
      pipelineParallelDegree: 2,
      pipeline: { chunksPerRank: 2 },
      communication: { overlapPipelineTransfers: false },
    },
    message:
      'communication.overlapPipelineTransfers false with interleaved-1f1b requires pipelineParallelDegree 3 or more, not 2; set overlapPipelineTransfers to true',
    waysOut: [
      { layout: { communication: { overlapPipelineTransfers: true } } },
      { layout: { pipelineParallelDegree: 4 } },
    ],
  },
];

const legal: readonly LegalCase[] = [
  [
    'every stage that is not protected skipped',
    {
      pipelineParallelDegree: 4,
      pipeline: { schedule: 'partial-paths', scheduleFile: SCHEDULE_FILE, skipRatio: 0.5, protectedStages: 2 },
    },
  ],
  [
    'two stages without interleaving and without overlap',
    { pipelineParallelDegree: 2, communication: { overlapPipelineTransfers: false } },
  ],
];

describe('rules of the pipeline beyond degrees', () => {
  showRules({ rules: pipelineRules, broken, legal });
});
