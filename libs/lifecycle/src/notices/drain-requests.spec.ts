import { answerDrain, drainNotices, type DrainRequest, drainRequestOf, type PodOnNode } from './drain-requests.ts';

const NOW = new Date('2026-11-30T12:00:00Z');
const READY = { now: NOW, isReady: true };

function aRequest(spec: object = {}, more: { readonly metadata?: object; readonly status?: object } = {}): unknown {
  return {
    metadata: { namespace: 'nvsentinel', name: 'drain-gpu-7', ...more.metadata },
    spec: { nodeName: 'gpu-7', podsToDrain: { research: ['gpt-1-0'] }, ...spec },
    ...(more.status === undefined ? {} : { status: more.status }),
  };
}

function read(object: unknown): DrainRequest {
  const request = drainRequestOf(object);
  if (request === undefined) throw new Error('it is no DrainRequest');
  return request;
}

const OURS: PodOnNode = {
  namespace: 'research',
  name: 'gpt-1-0',
  isOver: false,
  job: { name: 'gpt', savesCheckpoints: true },
};
const STRANGER: PodOnNode = { namespace: 'research', name: 'notebook', isOver: false };

describe('an object of kind DrainRequest', () => {
  it.each<[string, unknown, readonly string[] | undefined]>([
    ['names pods of namespaces', aRequest({ podsToDrain: { a: ['x', 'y'], b: ['x'] } }), ['a/x', 'a/y', 'b/x']],
    ['may name no pod', aRequest({ podsToDrain: undefined }), []],
    ['is read as far as it has lists of names', aRequest({ podsToDrain: { a: 'x', b: [1, null, 'y'] } }), ['b/y']],
    ['may have no map of pods', aRequest({ podsToDrain: ['x'] }), []],
    ['says nothing without a node', aRequest({ nodeName: '' }), undefined],
    ['says nothing with a node of another shape', aRequest({ nodeName: 7 }), undefined],
    ['says nothing without a name', aRequest({}, { metadata: { name: undefined } }), undefined],
    ['says nothing if it is no object', 'drain', undefined],
  ])('%s', (_what, object, pods) => {
    const request = drainRequestOf(object);
    expect(request === undefined ? undefined : [...request.pods]).toEqual(pods);
  });
});

describe('a DrainRequest asks', () => {
  it.each<[string, unknown, string | undefined, number]>([
    ['jobs of a namespace with a listed pod to leave', aRequest(), 'research', 1],
    ['nothing of jobs of other namespaces', aRequest(), 'vision', 0],
    ['nothing of jobs whose namespace begins with the same letters', aRequest(), 'res', 0],
    ['nothing if it lists no pod', aRequest({ podsToDrain: {} }), 'research', 0],
    ['nothing once it is being deleted', aRequest({}, { metadata: { deletionTimestamp: 'now' } }), 'research', 0],
    [
      'nothing once it is complete',
      aRequest({}, { status: { conditions: [{ type: 'DrainComplete', status: 'True' }] } }),
      'research',
      0,
    ],
  ])('%s', (_what, object, namespace, count) => {
    expect(drainNotices([read(object)], namespace)).toHaveLength(count);
  });
});

describe('the answer to a DrainRequest', () => {
  it.each<[string, unknown, readonly PodOnNode[], string]>([
    [
      'names the jobs that save and leave',
      aRequest(),
      [OURS],
      'Draining=True JobsLeave: 1 of 1 pod is on node gpu-7. These jobs save and leave it: research/gpt.',
    ],
    [
      'names jobs that cannot save, which take a person',
      aRequest({ podsToDrain: { research: ['gpt-1-0', 'toy-1-0'] } }),
      [OURS, { ...OURS, name: 'toy-1-0', job: { name: 'toy', savesCheckpoints: false } }],
      'Draining=True JobsCannotSave: 2 of 2 pods are on node gpu-7. These jobs save and leave it: research/gpt. These jobs save no checkpoints and would lose their work, so they train on until they are suspended or deleted: research/toy.',
    ],
    [
      'waits for pods of others and leaves them alone',
      aRequest({ podsToDrain: { research: ['gpt-1-0', 'notebook'] } }),
      [STRANGER],
      'Draining=True OtherPods: 1 of 2 pods is on node gpu-7. These pods belong to no training job, so Coxswain leaves them alone and waits for them: research/notebook.',
    ],
    [
      'is complete when no listed pod is there',
      aRequest(),
      [STRANGER, { ...OURS, namespace: 'vision' }],
      'Draining=False PodsGone, DrainComplete=True PodsGone: None of the 1 pod is on node gpu-7.',
    ],
    [
      'is complete when what is left has ended',
      aRequest(),
      [{ ...OURS, isOver: true }],
      'Draining=False PodsGone, DrainComplete=True PodsGone: None of the 1 pod is on node gpu-7.',
    ],
    [
      'is complete at once if no pod is listed',
      aRequest({ podsToDrain: {} }),
      [OURS],
      'Draining=False PodsGone, DrainComplete=True PodsGone: No pod of node gpu-7 was to be drained.',
    ],
  ])('%s', (_what, object, pods, expected) => {
    const conditions = answerDrain(read(object), pods, READY) ?? [];
    const states = conditions.map(({ type, status, reason }) => `${String(type)}=${String(status)} ${String(reason)}`);
    expect(`${states.join(', ')}: ${String(conditions.at(-1)?.['message'])}`).toBe(expected);
  });

  it.each<[string, unknown, boolean, RegExp]>([
    ['a list in place of a map', aRequest({ podsToDrain: ['gpt-1-0'] }), true, /NotUnderstood.*has to be a map/u],
    ['objects in place of names', aRequest({ podsToDrain: { research: [{ name: 'x' }] } }), true, /NotUnderstood/u],
    ['a node that is not ready', aRequest(), false, /NodeSilent.*its pods cannot end.*delete these pods by force/u],
  ])('says so of %s, and is not complete', (_what, object, isReady, expected) => {
    const conditions = answerDrain(read(object), isReady ? [] : [OURS], { now: NOW, isReady }) ?? [];
    expect(conditions.map(({ type }) => type)).toEqual(['Draining']);
    expect(`${String(conditions[0]?.['reason'])} ${String(conditions[0]?.['message'])}`).toMatch(expected);
  });

  it('shows five names of ten thousand and how many more there are', () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `pod-${String(index).padStart(5, '0')}`);
    const pods = names.map((name) => ({ namespace: 'research', name, isOver: false }));
    const [condition] = answerDrain(read(aRequest({ podsToDrain: { research: names } })), pods, READY) ?? [];
    expect(condition?.['message']).toMatch(/10000 of 10000 pods.*research\/pod-00004 and 9995 more\.$/u);
  });

  it('is written once, keeps conditions of others and the time since when it holds', () => {
    const other = { type: 'Noted', status: 'True' };
    const first = answerDrain(read(aRequest({}, { status: { conditions: [other] } })), [OURS], READY);
    const again = read(aRequest({}, { status: { conditions: first } }));
    expect(answerDrain(again, [OURS], { ...READY, now: new Date('2026-11-30T12:01:00Z') })).toBeUndefined();
    const later = answerDrain(again, [STRANGER, { ...OURS, job: { name: 'b', savesCheckpoints: true } }], READY);
    expect(first).toMatchObject([other, { lastTransitionTime: NOW.toISOString() }]);
    expect(later).toMatchObject([other, { type: 'Draining', lastTransitionTime: NOW.toISOString() }]);
  });

  it('is not changed once it is complete, even if a pod of that name is there again', () => {
    const complete = answerDrain(read(aRequest()), [], READY);
    expect(answerDrain(read(aRequest({}, { status: { conditions: complete } })), [OURS], READY)).toBeUndefined();
  });
});
