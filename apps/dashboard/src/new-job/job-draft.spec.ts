/** The YAML of a job that is not submitted yet: what it says, and how the form edits single fields of it. */
import { draftText, rangeOf, readDraft, valueIn, withField } from './job-draft.ts';

const MANIFEST = `apiVersion: training.coxswain.dev/v1alpha1
kind: TrainingJob
metadata:
  name: tiny # of the job
  labels:
    team: vision
spec:
  # The program
  engine:
    name: command
    image: a:1
  gpus: 4
`;
const BODY = 'name: tiny\nspec:\n  gpus: 4\n';

describe('the text of a job', () => {
  it.each<[string, string, unknown]>([
    [
      'is a manifest',
      MANIFEST,
      { name: 'tiny', labels: { team: 'vision' }, spec: { engine: { name: 'command', image: 'a:1' }, gpus: 4 } },
    ],
    ['is the body of a request', BODY, { name: 'tiny', spec: { gpus: 4 } }],
    ['is JSON', '{"name": "tiny", "spec": {}}', { name: 'tiny', spec: {} }],
  ])('%s', (_sentence, text, request) => {
    expect(readDraft(text)).toEqual({ request, problems: [] });
  });

  it.each<[string, string, RegExp]>([
    ['that is empty', '', /^The YAML is empty\./],
    ['that is a list', '- a', /^The YAML contains no job; expected a TrainingJob manifest/],
    ['of another kind', 'apiVersion: v1\nkind: Pod', /^The YAML is a v1 Pod; expected training\.coxswain\.dev/],
    [
      'with a broken line',
      'name: tiny\nspec: {',
      /^Line 2 is not YAML: [^:]+\. The form can be used again once the YAML can be read\.$/,
    ],
    ['with two documents', `${BODY}---\n${BODY}`, /^There are 2 documents\. Submit one job at a time\.$/],
    ['with an alias to nothing', 'name: *nothing', /not YAML|contains no job/],
  ])('%s is no job, and says why', (_sentence, text, rule) => {
    const { request, problems } = readDraft(text);
    expect(request).toBeUndefined();
    expect(problems.map((one) => one.rule)).toEqual([expect.stringMatching(rule)]);
  });

  it('names misspelt fields that no schema would find', () => {
    expect(readDraft(MANIFEST.replace('labels', 'lables')).problems).toMatchObject([
      { field: 'metadata', rule: 'unknown field "lables"; did you mean "labels"?' },
    ]);
  });
});

describe('an edit of the form', () => {
  it.each<[string, string, readonly [field: string, value: unknown], string]>([
    ['changes one line and keeps its comment', MANIFEST, ['name', 'big'], '  name: big # of the job'],
    ['adds a field', MANIFEST, ['spec.engine.command', ['a', 'b']], '    command:\n      - a\n      - b\n'],
    [
      'adds a field inside of one that is not there yet',
      MANIFEST,
      ['spec.model.preset', 'x'],
      '  model:\n    preset: x\n',
    ],
    ['adds metadata of a manifest', MANIFEST, ['namespace', 'lab'], '    team: vision\n  namespace: lab\n'],
    ['writes into a body', BODY, ['namespace', 'lab'], 'namespace: lab\n'],
    ['fills a key without a value', 'name: a\nspec:\n', ['spec.gpus', 4], 'spec:\n  gpus: 4\n'],
    ['fills an empty text', '', ['spec.gpus', 4], 'spec:\n  gpus: 4\n'],
    ['quotes what would be another type', BODY, ['name', '12'], 'name: "12"'],
  ])('%s', (_sentence, text, [field, value], want) => {
    const edited = withField(text, field, value);
    expect(edited).toContain(want);
    expect(valueIn(readDraft(edited).request, field)).toEqual(value);
  });

  it('removes a field, and the maps that are then empty', () => {
    expect(withField('name: a\nspec:\n  a:\n    b:\n      c: 1\n  d: 2\n', 'spec.a.b.c', undefined)).toBe(
      'name: a\nspec:\n  d: 2\n',
    );
  });

  it('leaves a text as it is if the field is not there', () => {
    expect(withField(MANIFEST, 'spec.model.preset', undefined)).toBe(MANIFEST);
  });

  it('leaves every other line as it is', () => {
    const edited = withField(MANIFEST, 'spec.gpus', 8);
    expect(edited).toBe(MANIFEST.replace('gpus: 4', 'gpus: 8'));
  });
});

describe('the place of a field', () => {
  const textAt = (field: string): string | undefined => {
    const range = rangeOf(MANIFEST, field);
    return range && MANIFEST.slice(...range);
  };
  it.each<[string, string, string | undefined]>([
    ['is its value', 'spec.engine.image', 'a:1'],
    ['of metadata is in the metadata', 'name', 'tiny'],
    ['that is not there is the field around it', 'spec.gpus.x', '4'],
    ['that is nowhere is unknown', '', undefined],
  ])('%s', (_sentence, field, want) => {
    expect(textAt(field)).toBe(want);
  });
});

it('a request and its text are the same job', () => {
  const request = {
    name: 'tiny',
    namespace: 'lab',
    labels: { a: '1' },
    spec: { gpus: 4, engine: { args: ['--x=1: 2'] } },
  };
  expect(readDraft(draftText('training.coxswain.dev/v1alpha1', request))).toEqual({ request, problems: [] });
});
