import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCES = join(import.meta.dirname, '..');
const WRITES_JOBS = /\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM|MERGE\s+INTO|TRUNCATE)\s+(ONLY\s+)?"?jobs\b/i;

const sources = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !/\.(spec|itest)\.ts$/.test(file) && !file.includes('testing/'),
);

describe('the table jobs', () => {
  it('is written in one file, where what guards each write is said', () => {
    const writers = sources.filter((file) => WRITES_JOBS.test(readFileSync(join(SOURCES, file), 'utf8')));
    expect(sources.length).toBeGreaterThan(50);
    expect(writers).toEqual([join('jobs', 'job-table.ts')]);
  });
});
