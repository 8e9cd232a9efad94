/** `layout check`, `render` and `predict` give one verdict about a layout and its engine, and one exit code. */
import { isEngineName } from '@coxswain/engines';
import { VERDICT_ROWS, type Verdicts } from '@coxswain/engines/testing/verdict-rows';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readDocument } from '../files/read-document.ts';
import { runOffline } from '../testing/run-offline.ts';

const EXAMPLES = resolve(import.meta.dirname, '../../../../examples/layouts');

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-verdict-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

async function verdicts(path: string): Promise<Verdicts> {
  const [check, render, predict] = [
    await runOffline({}, 'layout', 'check', path),
    await runOffline({}, 'render', '--layout', path),
    await runOffline({}, 'predict', path),
  ];
  return { check: check.code, render: render.code, predict: predict.code };
}

function engineOf(path: string): string {
  const document = readDocument(path) as { readonly engine?: { readonly name?: string } };
  return document.engine?.name ?? '';
}

const SHIPPED = readdirSync(EXAMPLES).filter(
  (name) => name.endsWith('.yaml') && isEngineName(engineOf(join(EXAMPLES, name))),
);

describe('a shipped layout for an engine that jobs can name', () => {
  it.each(SHIPPED)('%s has one verdict', async (name) => {
    const path = join(EXAMPLES, name);
    const { check, render, predict } = await verdicts(path);
    expect({ name, check }).toEqual({ name, check: render });
    // Exit code 4 is the planner's: no model for an option, or too little memory.
    expect([4, render]).toContain(predict);
  });
});

it.each(VERDICT_ROWS)('%s', async (_sentence, document, want) => {
  const path = join(directory, 'layout.json');
  writeFileSync(path, JSON.stringify(document));
  expect(await verdicts(path)).toEqual(want);
});

it('renders gradients in the format that the plan priced', async () => {
  const request = ['--model', 'llama-3.1-70b', '--seq', '8192', '--global-batch', '256'];
  const cluster = ['--gpu', 'h200', '--nic', 'roce', '--stack', 'megatron-bridge 26.02'];
  const planned = await runOffline({}, 'plan', ...request, ...cluster, '--gpus', '64', '--json');
  const { best } = JSON.parse(planned.out) as { readonly best: { readonly prediction: { readonly peakGib: number } } };
  const path = join(directory, 'best.json');
  writeFileSync(path, JSON.stringify(best));
  const predicted = await runOffline({}, 'predict', path, ...request, ...cluster, '--json');
  const { out } = await runOffline({}, 'render', '--layout', path, '--engine', 'megatron-bridge', ...request, '--json');
  const { files } = JSON.parse(out) as { readonly files: readonly { readonly path: string; readonly text: string }[] };
  const written = JSON.parse(files.find(({ path: name }) => name === 'megatron-bridge.json')?.text ?? '{}') as object;
  expect(JSON.parse(predicted.out)).toMatchObject({ prediction: { peakGib: best.prediction.peakGib } });
  expect(written).toMatchObject({ mixed_precision: { bf16: true, grad_reduce_in_fp32: false } });
});
