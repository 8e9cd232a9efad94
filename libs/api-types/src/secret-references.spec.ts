import { describeSecrets, TrainingJobSpec } from './index.ts';
import { aJobSpec } from './testing/index.ts';
import { type Bound, letters, refusedFields, withField } from './testing/one-field.ts';

const variable = { name: 'HF_TOKEN', secret: 'job-hf', key: 'token', optional: false };
const file = { secret: 'job-hf', key: 'token', optional: false };
const SPEC = {
  ...aJobSpec(),
  engine: { ...aJobSpec().engine, env: [{ name: 'A', value: 'b' }], secretEnv: [variable], secretFiles: [file] },
};
const several = (count: number, one: object, field: string): readonly object[] =>
  Array.from({ length: count }, (_, index) => ({ ...one, [field]: `a${index}` }));

describe('a reference to a Secret', () => {
  it.each<Bound>([
    ['engine.secretEnv', 'at most 100 variables', several(100, variable, 'name'), several(101, variable, 'name')],
    ['engine.secretEnv', 'one value for each variable', [variable], [variable, { ...variable, key: 'other' }]],
    ['engine.secretEnv', 'no variable that has a plain value', [variable], [{ ...variable, name: 'A' }]],
    ['engine.secretEnv.0.name', 'a C identifier', '_1', '1A'],
    ['engine.secretEnv.0.name', 'none of ours', 'COXSWAIN', 'COXSWAIN_TOKEN_FILE'],
    ['engine.secretEnv.0.secret', 'of a Secret made for jobs', 'job-a', 'registry-credentials'],
    ['engine.secretEnv.0.secret', 'with the prefix in front', 'job-job-a', 'my-job-a'],
    ['engine.secretEnv.0.secret', 'at most 63 characters', `job-${letters(59)}`, `job-${letters(60)}`],
    ['engine.secretEnv.0.key', 'at most 253 characters', letters(253), letters(254)],
    ['engine.secretEnv.0.key', 'no path', 'a.b', 'a/b'],
    ['engine.secretEnv.0.optional', 'true or false', true, 'yes'],
    ['engine.secretFiles', 'at most 32 files', several(32, file, 'key'), several(33, file, 'key')],
    ['engine.secretFiles', 'one file for each key', [file, { ...file, secret: 'job-b' }], [file, file]],
    ['engine.secretFiles.0.secret', 'of a Secret made for jobs', 'job-a', 'default-token-abcde'],
    ['engine.secretFiles.0.key', 'no way out of its directory', '.a', '..'],
    ['engine.secretFiles.0.key', 'nothing that the kubelet keeps for itself', '.data', '..data'],
    ['engine.secretFiles.0.key', 'not the directory itself', 'a.', '.'],
  ])('%s is %s', (field, _rule, kept, broken) => {
    expect(refusedFields(TrainingJobSpec, withField(SPEC, field, kept))).toEqual([]);
    expect(refusedFields(TrainingJobSpec, withField(SPEC, field, broken))).toEqual([field]);
  });

  it.each(['engine.secretEnv.0.value', 'engine.secretFiles.0.path', 'engine.envFrom', 'engine.imagePullSecrets'])(
    '%s is refused, not dropped',
    (field) => {
      expect(refusedFields(TrainingJobSpec, withField(SPEC, field, 'x'))).toEqual([field]);
    },
  );

  it('that says nothing of it is one that pods wait for', () => {
    const { optional: _, ...shorter } = file;
    const spec = TrainingJobSpec.parse(withField(SPEC, 'engine.secretFiles', [shorter]));
    expect(spec.engine.secretFiles).toEqual([file]);
  });

  it('to a Secret of another name is told what to do instead', () => {
    const refused = TrainingJobSpec.safeParse(withField(SPEC, 'engine.secretEnv.0.secret', 'registry'));
    expect(refused.error?.issues[0]?.message).toBe(
      'must begin with "job-": a job can use no other Secret of its namespace; make one of such a name that holds the key',
    );
  });

  it('is shown by where it is found and where it comes from', () => {
    expect(describeSecrets(SPEC.engine)).toEqual([
      { as: 'HF_TOKEN', from: 'secret job-hf/token' },
      { as: '/coxswain/secrets/job-hf/token', from: 'secret job-hf/token' },
    ]);
    expect(describeSecrets({ secretEnv: [{ ...variable, optional: true }] })).toEqual([
      { as: 'HF_TOKEN', from: 'secret job-hf/token, if there is one' },
    ]);
    expect(describeSecrets(aJobSpec().engine)).toEqual([]);
  });
});
