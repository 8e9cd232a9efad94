/** `node tools/bootstrap.mjs tools/compatibility/record.ts`: what is served now becomes what later commits are compared with. Run it in the commit of a release. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { coxswainVersion, ROOT } from '../images/image-names.ts';
import { apiOfSources, recordedApi } from './released-api.ts';

const api = apiOfSources();
for (const [path, text] of recordedApi(api, coxswainVersion())) {
  mkdirSync(dirname(join(ROOT, path)), { recursive: true });
  writeFileSync(join(ROOT, path), text);
  console.log(`wrote ${path}`);
}
