import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runScript } from './run-script.ts';

type Program = Parameters<typeof runScript>[1];

const PROGRAM: Program = {
  release: 'v1',
  startedBy: 'launcher',
  argv: ['cat', '$(COXSWAIN_ENGINE_FILES)/conf/a.toml'],
  resumeArgs: ['$(COXSWAIN_RESUME_FROM)/state'],
  env: [],
  files: [{ path: 'conf/a.toml', text: 'rank = $(RANK)\ncost = "$$5"\nname = "$(UNKNOWN)"\n' }],
  ports: [],
  hostMemoryGibPerGpu: null,
  stepLines: null,
  checkpointFormat: null,
  notes: ['a note\nof two lines'],
};

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-script-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function run(program: Program, env: Readonly<Record<string, string>>): string {
  for (const { path, text } of [...program.files, { path: 'run.sh', text: runScript('an-engine', program) }]) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  chmodSync(join(directory, 'run.sh'), 0o755);
  const { PATH = '' } = process.env;
  return execFileSync(join(directory, 'run.sh'), { encoding: 'utf8', env: { PATH, ...env }, stdio: 'pipe' });
}

describe('the script of a rendering', () => {
  it('puts variables of the rank into files, and leaves names that are none', () => {
    expect(run(PROGRAM, { RANK: '3', UNKNOWN: '$(UNKNOWN)' })).toBe('rank = 3\ncost = "$5"\nname = "$(UNKNOWN)"\n');
  });

  it('has programs find the modules among its files, behind those of their own', () => {
    const program = { ...PROGRAM, argv: ['sh', '-c', 'printf %s "$$PYTHONPATH"'], resumeArgs: [] };
    const env = { RANK: '0', UNKNOWN: 'x', COXSWAIN_ENGINE_FILES: join(directory, 'files') };
    expect(run(program, env)).toBe(join(directory, 'files'));
    expect(run(program, { ...env, PYTHONPATH: '/a' })).toBe(`/a:${join(directory, 'files')}`);
  });

  it('says which variable of a rank is missing', () => {
    expect(() => run(PROGRAM, { UNKNOWN: 'x' })).toThrow(/RANK/);
  });

  it('adds the arguments of a resumed start where there is a checkpoint', () => {
    writeFileSync(join(directory, 'state'), 'saved\n');
    const env = { RANK: '0', UNKNOWN: 'x', COXSWAIN_RESUME_FROM: directory };
    expect(run(PROGRAM, env)).toMatch(/saved\n$/);
  });

  it.each<[string, string]>([
    ['quotes', `it's "so"`],
    ['backslashes and backticks', 'a\\b`c`'],
    ['two lines', 'a\nb'],
    ['nothing', ''],
  ])('gives %s as they are', (_what, text) => {
    const { files: _none, ...plain } = PROGRAM;
    const program = {
      ...plain,
      files: [],
      resumeArgs: [],
      argv: ['printf', '%s', text],
      env: [{ name: 'X', value: text }],
    };
    expect(run(program, {})).toBe(text);
    expect(run({ ...program, argv: ['sh', '-c', 'printf %s "$$X"'] }, {})).toBe(text);
  });

  it('has one flag in each line', () => {
    const script = runScript('an-engine', { ...PROGRAM, argv: ['python3', '-m', 'a.b', '--x', '1', '--y', '$(RANK)'] });
    expect(script).toContain('exec python3 -m a.b \\\n  --x 1 \\\n  --y "${RANK}" \\\n');
    expect(script).toContain('# a note of two lines\n');
  });
});
