import {
  errorFromAnswer,
  isAdmissionUnavailable,
  isConflict,
  isDeniedByAdmission,
  isKindUnknown,
  isNotFound,
  isRefusal,
  isRetryable,
  isUnauthorizedVerb,
  KubeApiError,
  serverSentence,
} from './errors.ts';

const anError = (status: number, reason: string, message: string): KubeApiError =>
  new KubeApiError({ status, reason, message });

const RBAC =
  'trainingjobs.training.coxswain.dev is forbidden: User "system:serviceaccount:a:b" cannot create resource "trainingjobs" in API group "training.coxswain.dev" in the namespace "x"';

describe('an error of the Kubernetes API', () => {
  it.each([
    ['a right that is missing', anError(403, 'Forbidden', RBAC), true],
    [
      'a quota that is spent',
      anError(403, 'Forbidden', 'pods "a" is forbidden: exceeded quota: gpus, requested: 2, used: 8, limited: 8'),
      false,
    ],
    [
      'a pod that security forbids',
      anError(403, 'Forbidden', 'pods "a" is forbidden: violates PodSecurity "restricted:latest": privileged'),
      false,
    ],
    ['a credential that is not known', anError(401, 'Unauthorized', 'Unauthorized'), false],
  ])('tells %s from a judgement of the object', (_sentence, error, want) => {
    expect(isUnauthorizedVerb(error)).toBe(want);
  });

  it.each([
    ['a right that is missing', anError(403, 'Forbidden', RBAC), false],
    ['a quota that is spent', anError(403, 'Forbidden', 'pods "a" is forbidden: exceeded quota: gpus'), true],
    ['a field that is not of the schema', anError(422, 'Invalid', 'spec.layout: Required value'), true],
    ['a body that cannot be decoded', anError(400, 'BadRequest', 'strict decoding error'), true],
    [
      'a body that is too large',
      anError(413, 'RequestEntityTooLarge', 'Request entity too large: limit is 3145728'),
      true,
    ],
    ['an object that is too large for etcd', anError(500, 'InternalError', 'etcdserver: request is too large'), true],
    ['a newer version of the object', anError(409, 'Conflict', 'the object has been modified'), false],
    ['a server that is busy', anError(429, 'TooManyRequests', ''), false],
    ['no answer at all', anError(0, 'Timeout', ''), false],
    ['something that the Kubernetes API did not say', new Error('forbidden'), false],
  ])('that speaks of %s is a refusal of the object: %s', (_sentence, error, want) => {
    expect(isRefusal(error)).toBe(want);
  });

  it.each([
    ['a kind that is not served', anError(404, 'NotFound', 'the server could not find the requested resource'), true],
    ['a group that is not served', anError(404, 'NotFound', '404 page not found'), true],
    ['a namespace that does not exist', anError(404, 'NotFound', 'namespaces "x" not found'), false],
  ])('tells %s by its words', (_sentence, error, want) => {
    expect(isKindUnknown(error)).toBe(want);
  });

  it.each([
    ['a webhook’s', JSON.stringify({ kind: 'Status', message: 'denied: \ud83d\u009b\r\n' }), 'denied: \ufffd\ufffd\n'],
    ['a proxy’s', '<html>\u001b[31m\u0000', '<html>\ufffd'],
    ['endless', 'x'.repeat(9_000), `${'x'.repeat(299)}…`],
  ])('says in safe text what the server said, also when its words are %s', (_whose, body, want) => {
    const { message } = errorFromAnswer({ status: 403, body, retryAfter: undefined, request: 'POST /pods' });
    expect(message).toBe(`POST /pods was answered 403: ${want}`);
  });

  const POLICY = `pods "a" is forbidden: ValidatingAdmissionPolicy 'oc-no-update' with binding 'oc-no-update' denied request: image signature service says no`;
  const WEBHOOK = 'admission webhook "sig.example.com" denied the request: not signed';
  it.each([
    ['a policy, as validation', anError(422, 'Invalid', POLICY)],
    ['a policy, as a right', anError(403, 'Forbidden', POLICY)],
    ['a webhook', anError(403, 'Forbidden', WEBHOOK)],
    ['a webhook with the status of a broken server', anError(500, 'InternalError', WEBHOOK)],
    ['a webhook with the status of a conflict', anError(409, 'Conflict', WEBHOOK)],
    ['a webhook with the status of a missing object', anError(404, 'NotFound', WEBHOOK)],
  ])('of a request that is denied by %s is a refusal, and nothing else', (_whose, error) => {
    expect([isDeniedByAdmission(error), isRefusal(error)]).toEqual([true, true]);
    expect([isConflict, isNotFound, isRetryable, isAdmissionUnavailable].map((is) => is(error))).toEqual(
      Array.from({ length: 4 }, () => false),
    );
  });

  it.each([
    [
      'a webhook that does not answer',
      anError(
        500,
        'InternalError',
        'Internal error occurred: failed calling webhook "sig.example.com": failed to call webhook: Post "https://127.0.0.1:9/validate?timeout=2s": dial tcp 127.0.0.1:9: connect: connection refused',
      ),
      true,
    ],
    ['a server that fails by itself', anError(500, 'InternalError', 'etcdserver: request timed out'), false],
    ['a test of a patch that failed', anError(422, 'Invalid', 'the server rejected our request'), false],
  ])('tells %s from others', (_what, error, want) => {
    expect(isAdmissionUnavailable(error)).toBe(want);
    expect(isDeniedByAdmission(error)).toBe(false);
  });

  it('has the sentence of the server alone', () => {
    const body = JSON.stringify({ kind: 'Status', message: POLICY });
    const error = errorFromAnswer({ status: 422, body, retryAfter: undefined, request: 'PATCH /api/v1/pods/a' });
    expect(serverSentence(error)).toBe(POLICY);
    expect(serverSentence(new Error('no answer'))).toBe('no answer');
  });

  it.each([
    [0, 'ConnectionFailed', true],
    [0, 'Aborted', false],
    [401, 'Unauthorized', true],
    [409, 'Conflict', false],
    [422, 'Invalid', false],
    [429, 'TooManyRequests', true],
    [503, 'ServiceUnavailable', true],
  ])('of status %s and reason %s is worth the same request again: %s', (status, reason, want) => {
    expect(isRetryable(anError(status, reason, ''))).toBe(want);
  });
});
