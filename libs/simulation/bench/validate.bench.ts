/**
 * `npm run simulate:validate [-- --seeds N]`: simulated beside published figures, means over N runs (10 unless said); some minutes. Exits with 1 where a
 * figure is outside of what is accepted. `fitted`: the times of the response were chosen so that this figure comes out, so it shows no more than that.
 */
import { parseArgs } from 'node:util';
import { byteRobustRows, ladderRows, llama3Rows, megaScaleRows } from '../src/testing/published.ts';

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '10' }, help: { type: 'boolean' } } });
if (values.help === true) {
  process.stdout.write('npm run simulate:validate [-- --seeds N]   N runs of each; 10 unless said, some minutes.\n');
  process.exit();
}
const seeds = Number(values.seeds);
if (!Number.isSafeInteger(seeds) || seeds < 1)
  throw new Error(`--seeds ${values.seeds} is no number of runs; give 1 or more`);

let outside = 0;
for (const rowsOf of [llama3Rows, megaScaleRows, byteRobustRows, ladderRows]) {
  for (const { test, what, published, found, least, most, isFitted } of rowsOf(seeds)) {
    const isAccepted = found >= least && found <= most;
    outside += isAccepted ? 0 : 1;
    const line = [test, what.padEnd(58), published.padEnd(15), found.toPrecision(4), `${least} to ${most}`];
    process.stdout.write(`${isAccepted ? 'ok ' : 'OUT'} ${line.join('  ')}${isFitted ? '  fitted' : ''}\n`);
  }
}
process.stdout.write(`${JSON.stringify({ seeds, outside })}\n`);
process.exitCode = outside === 0 ? 0 : 1;
