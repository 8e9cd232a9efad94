/** For `node --import`: compiles the decorators of the API's sources, which Node does not read. */
import { transformSync } from '@swc/core';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

const options = JSON.parse(readFileSync(new URL('../../../apps/api/swc.json', import.meta.url), 'utf8'));
const { $schema: _schema, exclude: _exclude, ...config } = options;
const sources = new URL('../../../apps/api/src/', import.meta.url).href;

registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith(sources) || !url.endsWith('.ts')) return nextLoad(url, context);
    const filename = fileURLToPath(url);
    const { jsc, module } = config;
    const { code } = transformSync(readFileSync(filename, 'utf8'), {
      filename,
      swcrc: false,
      jsc: { ...jsc, rewriteRelativeImportExtensions: undefined, experimental: { keepImportAttributes: true } },
      module,
      sourceMaps: 'inline',
    });
    return { format: 'module', source: code, shortCircuit: true };
  },
});
