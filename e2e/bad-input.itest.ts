import type { CoxswainSystem } from '@coxswain/local-cluster';
import type { Problem } from '@coxswain/api-types';
import { gptSpec, sleeperSpec } from './support/jobs.ts';
import { createProject, type TestProject } from './support/project.ts';
import { releaseSharedSystem, sharedSystem } from './support/shared-system.ts';

let system: CoxswainSystem;
let mine: TestProject;
let theirs: TestProject;

beforeAll(async () => {
  system = await sharedSystem();
  mine = await createProject(system, 'inputs');
  theirs = await createProject(system, 'outsiders');
});

afterAll(async () => {
  await releaseSharedSystem();
});

interface Answer {
  readonly status: number;
  readonly problem: Problem;
}

async function post(body: string, token = mine.token, project = 'inputs'): Promise<Answer> {
  const response = await fetch(`${system.apiUrl}/v1/projects/${project}/jobs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
  });
  expect(response.headers.get('content-type')).toContain('application/problem+json');
  return { status: response.status, problem: (await response.json()) as Problem };
}

const job = (change: object): string => JSON.stringify({ name: 'wrong', spec: gptSpec(), ...change });
const spec = (change: object): string => job({ spec: { ...gptSpec(), ...change } });

describe('a request that is wrong gets the status and a sentence that names what to change', () => {
  it.each<[string, string, number, RegExp]>([
    ['an unknown field', spec({ gpus: 4 }), 400, /gpus/],
    ['an unknown field at the top', job({ prio: 'high' }), 400, /prio/],
    ['a number where text belongs', job({ name: 7 }), 400, /name/],
    ['text where a number belongs', spec({ layout: { tensorParallelDegree: 'two' } }), 400, /tensorParallelDegree/],
    [
      'a degree that does not divide the heads',
      spec({ layout: { tensorParallelDegree: 3 } }),
      422,
      /tensorParallelDegree 3 does not divide attentionHeads 4/,
    ],
    [
      'a degree that does not divide the layers',
      spec({ layout: { pipelineParallelDegree: 3 } }),
      422,
      /pipelineParallelDegree 3 does not divide layers 2/,
    ],
    ['a batch that does not divide', spec({ layout: { dataParallelDegree: 3 } }), 422, /globalBatchSize 8/],
    ['a name of 300 characters', job({ name: 'a'.repeat(300) }), 400, /name/],
    ['a name with capitals', job({ name: 'My_Job' }), 400, /lower-case/],
    ['a path that leaves its claim', spec({ data: { claimName: 'corpus', path: '../other' } }), 400, /\.\./],
    [
      'no model for the reference engine',
      JSON.stringify({ name: 'wrong', spec: { ...gptSpec(), model: undefined } }),
      400,
      /model/,
    ],
    [
      'a namespace of another project',
      job({ namespace: 'outsiders', spec: sleeperSpec({ steps: 1 }) }),
      400,
      /theirs|namespace/,
    ],
    ['a body of 2 MB', job({ name: 'x'.repeat(2_000_000) }), 413, /1 MB|1,048,576|1048576|too large/i],
    ['something that is not JSON', '{"name": ', 400, /JSON/],
    ['deep nesting', '['.repeat(50_000) + ']'.repeat(50_000), 400, /nest|deep|object/i],
    ['a prototype in disguise', '{"name":"x","__proto__":{"admin":true},"spec":{}}', 400, /__proto__|spec/],
  ])('%s', async (_sentence, body, status, sentence) => {
    const answer = await post(body);
    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.problem)).toMatch(sentence);
  });

  it.each<[string, () => string, string, number]>([
    ['no token', () => '', 'inputs', 401],
    ['a token nobody made', () => 'cxs_00000000_0000000000000000000000000000000000000000000', 'inputs', 401],
    ['a token of another project', () => theirs.token, 'inputs', 403],
    ['a project that does not exist', () => mine.token, 'nowhere', 403],
  ])('%s', async (_sentence, token, project, status) => {
    const answer = await post(job({ spec: sleeperSpec({ steps: 1 }) }), token(), project);
    // A stranger learns nothing of what exists: the same answer for a project that is not there.
    expect([status, status === 403 ? 404 : status]).toContain(answer.status);
  });

  it('loses nothing: no job was made by any of them', async () => {
    expect((await mine.api.jobPage('inputs')).items).toEqual([]);
    expect(await system.plane.kubectl(['get', 'trainingjobs', '--all-namespaces', '-o', 'name'])).toBe('');
  });
});
