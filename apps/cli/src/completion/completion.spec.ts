/** A real bash, with the script that the command prints, completes words. */
import { startFakeApi, type FakeApi } from '@coxswain/api-client/testing';
import { aJob } from '@coxswain/api-types/testing';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('../../bin/coxswain.mjs', import.meta.url));
const ME = { name: 'ada', role: 'operator', project: 'research' };

/** Completes each of the words after `$#` given lines, as a Tab at the end of the line does; prints a line of proposals for each. */
const SCRIPT = `
# Of the package bash-completion, which a person's shell has loaded.
_get_comp_words_by_ref() { words=("\${COMP_WORDS[@]}"); cword=\$COMP_CWORD; cur=\${words[cword]}; }
source <(coxswain completion bash)
for line in "$@"; do
  read -ra COMP_WORDS <<< "$line"
  [[ "$line" == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
  COMPREPLY=()
  __coxswain_complete
  echo "\${COMPREPLY[@]}"
done`;

let fake: FakeApi;
let directory: string;
beforeAll(async () => {
  const jobs = { items: [aJob({ name: 'llama-a' }), aJob({ name: 'llama-b' }), aJob({ name: 'other' })] };
  fake = await startFakeApi({
    'GET /v1/whoami': { json: ME },
    'GET /v1/projects/research/jobs': { json: jobs },
  });
  directory = mkdtempSync(join(tmpdir(), 'coxswain-completion-'));
  for (const name of ['coxswain', 'kubectl_complete-coxswain']) symlinkSync(PROGRAM, join(directory, name));
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await fake.close();
});

async function run(command: string, args: readonly string[], server: string): Promise<string> {
  const env = {
    PATH: `${directory}:${process.env['PATH'] ?? ''}`,
    HOME: directory,
    COXSWAIN_SERVER: server,
    COXSWAIN_TOKEN: 'cxs_env',
  };
  return (await promisify(execFile)(command, args, { env })).stdout;
}

it('bash completes commands, options, their choices, and names of jobs', async () => {
  const lines = ['coxswain expl', 'coxswain --output ', 'coxswain get llama'];
  const printed = await run('bash', ['-c', SCRIPT, 'bash', ...lines], fake.url);
  expect(printed.split('\n').slice(0, lines.length)).toEqual(['explain', 'table json yaml', 'llama-a llama-b']);
});

it.each([
  ['kubectl completes words after `kubectl coxswain`', ['resu'], /^resume\t/],
  ['a server out of reach proposes no names, and prints no error', ['get', ''], /^:4\n$/],
])('%s', async (_sentence, words, proposals) => {
  expect(await run('kubectl_complete-coxswain', words, 'http://127.0.0.1:9')).toMatch(proposals);
});
