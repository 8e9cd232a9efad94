import { POD_ENV, type TrainingJobSpecInput } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { plainly } from '@coxswain/engines';
import { codeUrls } from './code-urls.ts';
import { toPod } from './pod-manifest.ts';

const BUCKET = {
  uri: 's3://training/code',
  endpoint: 'http://minio:9000',
  region: undefined,
  credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
};
const code = { sha256: 'a'.repeat(64) };
const urlOf = codeUrls(BUCKET, { now: () => new Date('2026-11-29T12:00:00Z') });
const aJob = (spec: Partial<TrainingJobSpecInput>): ReturnType<typeof aTrainingJob> =>
  aTrainingJob({ spec: { engine: { name: 'command', image: 'a/b:1', command: ['x'] }, ...spec } });

interface Container {
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}
interface Pod {
  readonly spec: { readonly containers: readonly [Container]; readonly volumes: readonly { readonly name: string }[] };
}
const podOf = (spec: Partial<TrainingJobSpecInput>, codeUrl?: string): Pod => {
  const job = aJob(spec);
  const layout = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 };
  const fixed = { jobName: job.metadata.name, jobUid: job.metadata.uid, epoch: 1, layout };
  return toPod({ job, placement: { spec: { ...fixed, worldSize: 1, ranksPerPod: 1, nodes: ['a'] } } }, 0, {
    name: 'tiny-e1-0',
    launcherImage: 'coxswain/launcher:dev',
    reportUrls: ['https://a:9443'],
    reportCaPem: 'CA',
    user: undefined,
    engine: plainly(['python3', 'train.py'], {}),
    ...(codeUrl === undefined ? {} : { codeUrl }),
  }) as unknown as Pod;
};

it('the URL reads one archive of the namespace of the job, for a day', async () => {
  const job = aJob({ code });
  const url = new URL((await urlOf(job)) ?? '');
  expect(url.origin + url.pathname).toBe(
    `http://minio:9000/training/code/${job.metadata.namespace ?? ''}/${code.sha256}.tar.gz`,
  );
  expect(url.searchParams.get('X-Amz-Expires')).toBe('86400');
  expect(url.searchParams.get('X-Amz-Date')).toBe('20261129T120000Z');
  expect(url.href).not.toContain('secret');
});

it('a job without code of its own has no URL', async () => {
  expect(await urlOf(aJob({}))).toBeUndefined();
});

it.each<[string, Partial<TrainingJobSpecInput>, string | undefined, readonly (string | undefined)[]]>([
  [
    'with code: the digest, the directory and the URL',
    { code },
    'http://x',
    [code.sha256, '/coxswain/code', 'http://x'],
  ],
  ['with code, and no bucket: no URL', { code }, undefined, [code.sha256, '/coxswain/code', undefined]],
  ['without code: nothing', {}, undefined, [undefined, undefined, undefined]],
])('a pod gets %s', (_which, spec, url, want) => {
  const { containers, volumes } = podOf(spec, url).spec;
  const env = Object.fromEntries(containers[0].env.map(({ name, value }) => [name, value]));
  expect([POD_ENV.codeSha256, POD_ENV.codeDirectory, POD_ENV.codeUrl].map((name) => env[name])).toEqual(want);
  const hasCode = spec.code !== undefined;
  expect(containers[0].volumeMounts.some(({ mountPath }) => mountPath === '/coxswain/code')).toBe(hasCode);
  expect(volumes.some(({ name }) => name === 'coxswain-code')).toBe(hasCode);
});
