import { sourcedCommand } from '@coxswain/api-types';
import { pythonLike } from './preflight-process.ts';

const PYTHON = '/opt/venv/bin/python3.12';

describe('the preflight of a command', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['is run by its Python', [PYTHON, 'train.py'], [PYTHON]],
    ['is run by the Python of the image where it is another program', ['torchrun', 'train.py'], ['python3']],
    [
      'is run after the script that its runtime sources',
      sourcedCommand('/gib.sh', [PYTHON, 'train.py']),
      [...sourcedCommand('/gib.sh', []), PYTHON],
    ],
    ['is not run after a bash of the user', ['/bin/bash', '-c', 'python3 train.py'], ['python3']],
  ])('%s', (_sentence, command, want) => {
    expect(pythonLike(command)).toEqual(want);
  });
});
