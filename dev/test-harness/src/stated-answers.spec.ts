import { type Answered, type Asked, StatedAnswers } from './stated-answers.ts';

const json = (schema: object): object => ({ 'application/json': { schema } });
const THING = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
  additionalProperties: false,
};
const stated = new StatedAnswers({
  paths: {
    '/things/{id}': {
      get: {
        operationId: 'get',
        responses: {
          '200': {
            headers: { ETag: { required: true, schema: { type: 'string', pattern: '^"' } } },
            content: json({ $ref: '#/components/schemas/Thing' }),
          },
          '429': { headers: { 'Retry-After': { required: true, schema: { type: 'integer' } } }, content: json({}) },
        },
      },
    },
    '/things': {
      post: {
        operationId: 'post',
        requestBody: { content: json({ $ref: '#/components/schemas/Thing' }) },
        responses: { '204': { description: 'made' } },
      },
    },
    '/things/stream': {
      get: {
        operationId: 'stream',
        responses: {
          '200': {
            content: { 'text/event-stream': { schema: { type: 'string', 'x-coxswain-events': { thing: THING } } } },
          },
        },
      },
    },
  },
  components: { schemas: { Thing: THING } },
});

const GET: Asked = { method: 'GET', url: '/things/1?x=1' };
const POST: Asked = { method: 'POST', url: '/things', body: { name: 'one' } };
const ok: Answered = {
  status: 200,
  headers: { etag: '"1"', 'content-type': 'application/json; charset=utf-8' },
  body: { name: 'one' },
};
const busy: Answered = { status: 429, headers: { 'retry-after': '1', 'content-type': 'application/json' }, body: {} };
const made: Answered = { status: 204, headers: {}, body: '' };
const absent: Answered = { status: 404, headers: {}, body: {} };

describe('an answer', () => {
  it.each<[string, Asked, Answered]>([
    ['as it is stated', GET, ok],
    ['with a header that is a number', GET, busy],
    ['without a body', POST, made],
    ['404 from no path', { method: 'GET', url: '/nothing' }, absent],
  ])('%s is held to be true', (_what, asked, answered) => {
    expect(() => stated.check(asked, answered)).not.toThrow();
  });

  it.each<[string, Asked, Answered, RegExp]>([
    ['of a status that is not stated', GET, { ...ok, status: 418 }, /answered 418, which is not stated \(200, 429\)/],
    ['without a header', GET, { ...ok, headers: { 'content-type': 'application/json' } }, /answered 200 without ETag/],
    [
      'with a header of another form',
      GET,
      { ...ok, headers: { ...ok.headers, etag: '1' } },
      /ETag: 1, which is not as/,
    ],
    [
      'with a word for a number',
      GET,
      { ...busy, headers: { ...busy.headers, 'retry-after': 'soon' } },
      /Retry-After: soon/,
    ],
    [
      'of another type',
      GET,
      { ...ok, headers: { ...ok.headers, 'content-type': 'text/html' } },
      /as text\/html; stated: app/,
    ],
    ['with a field more', GET, { ...ok, body: { name: 'one', secret: 1 } }, /additional.*secret/],
    ['with a field less', GET, { ...ok, body: {} }, /required property 'name'/],
    ['with a body where none is stated', POST, { ...made, body: 'x' }, /with a body, and none is stated/],
    ['to what may not be sent', { ...POST, body: { other: 1 } }, made, /requestBody/],
    ['200 from no path', { method: 'GET', url: '/nothing' }, ok, /is not stated and was answered 200/],
    ['200 to another method', { method: 'POST', url: '/things/1' }, ok, /is not stated and was answered 200/],
  ])('%s is told', (_what, asked, answered, sentence) => {
    expect(() => stated.check(asked, answered)).toThrow(sentence);
  });
});

describe('an event of a stream', () => {
  const STREAM: Asked = { method: 'GET', url: '/things/stream' };

  it('is held against its name and its schema', () => {
    expect(() => stated.checkEvent(STREAM, { name: 'thing', data: { name: 'one' } })).not.toThrow();
    expect(() => stated.checkEvent(STREAM, { name: 'thing', data: {} })).toThrow(/required property 'name'/);
    expect(() => stated.checkEvent(STREAM, { name: 'other', data: {} })).toThrow(/an event other, which is not stated/);
  });
});
