import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** Options of `npm run campaign -- real-node`. */
export interface RealNodeOptions {
  readonly install: boolean;
  readonly holdSeconds: number;
  /** A folder with archives of images from an earlier run; made anew unless given. */
  readonly images: string | undefined;
  /** A folder of `npm run release`, whose images and chart are used. */
  readonly release: string | undefined;
  /** Commit whose chart is installed first. */
  readonly from: string | undefined;
}

/** Throws an error with a sentence for the user when an argument is unknown or its value wrong. */
export function parseOptions(argv: readonly string[]): RealNodeOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      install: { type: 'boolean', default: false },
      hold: { type: 'string', default: '0' },
      images: { type: 'string' },
      release: { type: 'string' },
      from: { type: 'string' },
    },
  });
  const holdSeconds = Number(values.hold);
  if (!(holdSeconds >= 0)) throw new Error(`--hold is a number of seconds, not "${values.hold}"`);
  const { install, images, release, from } = values;
  if (images !== undefined && release !== undefined) throw new Error('--release has images; leave --images out');
  return { install, holdSeconds, images, release: release === undefined ? undefined : resolve(release), from };
}
