import { readFileSync } from 'node:fs';
import { MAX_ADOPTED } from './adoption.service.ts';

it('the page of limits and the task page name the limit of adopted checkpoints', () => {
  const pages = [
    new URL('../../../../docs/reference/limits.md', import.meta.url),
    new URL('../../../../docs/tasks/adopt-a-checkpoint.md', import.meta.url),
  ].map((path) => readFileSync(path, 'utf8'));
  for (const page of pages) expect(page).toMatch(new RegExp(`at most ${MAX_ADOPTED} \\[?adopted checkpoints`));
});
