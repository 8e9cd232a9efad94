import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { MAX_ADOPTED } from './adoption.service.ts';

it('the page of limits and the task page name the limit of adopted checkpoints', () => {
  const pages = ['reference/limits.md', 'tasks/adopt-a-checkpoint.md'].map((path) =>
    readFileSync(resolve(import.meta.dirname, '../../../../docs', path), 'utf8'),
  );
  for (const page of pages) expect(page).toMatch(new RegExp(`at most ${MAX_ADOPTED} \\[?adopted checkpoints`));
});
