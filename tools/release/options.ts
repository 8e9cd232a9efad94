import { parseArgs } from 'node:util';

/** What a release consists of; each is a folder of it. */
export const RELEASE_PARTS = ['images', 'charts', 'npm', 'python'] as const;
/** One entry of {@link RELEASE_PARTS}. */
export type ReleasePart = (typeof RELEASE_PARTS)[number];

/** Options of `npm run release`. */
export interface ReleaseOptions {
  readonly help: boolean;
  readonly out: string;
  readonly parts: readonly ReleasePart[];
  /** Image that ours are built upon; undefined: one of this machine's Debian packages. */
  readonly base: string | undefined;
}

/** Text of `npm run release -- --help`. */
export const HELP = `npm run release -- --out DIR [options] [parts]

Makes everything that a release publishes, in one folder from which Coxswain can be installed without internet. README.md of the folder says how.
Parts, all unless named; those that are not named stay as they are in DIR:

  images   container images as OCI archives, for this machine's processor (root, Debian 12, buildah)
  charts   the Helm chart, and values that name the images by digest
  npm      the command line, which is also the plugin of kubectl
  python   the Python package (wheel and source), and the packages that it needs

Each has a CycloneDX bill of materials beside it. SHA256SUMS lists every file. The same commit gives the same chart and packages.

  --out DIR      an empty folder, or one that this command made
  --base IMAGE   build our images upon this image, which needs glibc and libstdc++ (default: packages of this Debian)
  --help         print this
`;

/** Throws an error with a sentence for the user when an option is unknown or its value wrong. */
export function parseOptions(argv: readonly string[]): ReleaseOptions {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      out: { type: 'string', default: 'dist/release' },
      base: { type: 'string' },
    },
  });
  const unknown = positionals.filter((name) => !isPart(name));
  if (unknown.length > 0) {
    throw new Error(`a release has no part "${unknown.join('", "')}"; the parts are ${RELEASE_PARTS.join(', ')}`);
  }
  const parts = positionals.length === 0 ? RELEASE_PARTS : RELEASE_PARTS.filter((part) => positionals.includes(part));
  return { help: values.help, out: values.out, parts, base: values.base };
}

function isPart(name: string): name is ReleasePart {
  return (RELEASE_PARTS as readonly string[]).includes(name);
}
