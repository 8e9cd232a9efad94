/** One request of each kind as it may be sent: shown in the OpenAPI document, and sent to a real API by a test. */
const layout = { tensorParallelDegree: 2, dataParallelDegree: 2 };

export const EXAMPLE_PROJECT = { name: 'vision', namespaces: ['vision', 'vision-staging'] };

export const EXAMPLE_PROJECT_CHANGE = { priorityClasses: ['high', 'urgent'] };

export const EXAMPLE_TOKEN = { name: 'nightly', role: 'submitter' };

export const EXAMPLE_ROTATION = { overlapSeconds: 3_600 };

export const EXAMPLE_WEBHOOK = {
  url: 'https://hooks.example.com/coxswain',
  events: ['incident.opened', 'job.ended'],
};

export const EXAMPLE_WEBHOOK_ROTATION = { overlapSeconds: 3_600 };

export const EXAMPLE_JOB = {
  name: 'tiny-gpt',
  labels: { team: 'vision' },
  spec: {
    engine: { name: 'reference', image: 'coxswain/engine-reference:dev' },
    model: { layers: 4, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 },
    training: { steps: 100, globalBatchSize: 8 },
    data: { claimName: 'corpus', path: 'corpus.txt' },
    layout,
    checkpoint: { claimName: 'checkpoints', everySteps: 20 },
  },
};

export const EXAMPLE_RESUME = { layout: { tensorParallelDegree: 2, dataParallelDegree: 1 } };

export const EXAMPLE_PATCH = { labels: { team: 'speech', stage: null } };

export const EXAMPLE_LAYOUT = { name: 'two by two', layout };

export const EXAMPLE_RENDERING = {
  engine: { name: 'megatron-lm' },
  layout: { tensorParallelDegree: 4, dataParallelDegree: 2 },
  model: { preset: 'llama-3.1-8b', sequenceLength: 8_192 },
};
