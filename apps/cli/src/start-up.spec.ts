import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Prints the packages that the command line loads for one command. */
const PROGRAM = `
import { registerHooks } from 'node:module';
const loaded = new Set();
registerHooks({
  load(url, context, next) {
    loaded.add(url.match(/(?:libs|node_modules)[/](@[^/]+[/][^/]+|[^/]+)/)?.[1] ?? url);
    return next(url, context);
  },
});
const { main } = await import(${JSON.stringify(new URL('./main.ts', import.meta.url).href)});
console.log = () => undefined;
await main(process.argv.slice(1));
process.stdout.write(JSON.stringify([...loaded]));
`;

function loadedBy(...argv: readonly string[]): readonly string[] {
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', PROGRAM, '--', ...argv], {
    encoding: 'utf8',
  });
  return JSON.parse(printed) as readonly string[];
}

describe.each<[string, readonly string[], readonly string[]]>([
  [
    'get',
    ['get', '--help'],
    ['engines', 'checkpoint', 'health', 'runtime', 'fabric', 'simulation', 'plan-report', 'checkpoint-store'],
  ],
  ['--help', ['--help'], []],
])('coxswain %s starts fast, because it loads late what it does not need', (_command, argv, more) => {
  let loaded: readonly string[];
  beforeAll(() => {
    loaded = loadedBy(...argv);
  });

  it.each([
    ['the client of Kubernetes', ['kube', 'undici', '@kubernetes/client-node']],
    ['the rules of the operator, nor the simulation, which needs them', ['lifecycle', 'scheduling']],
    ['OpenID Connect', ['openid-client', 'oauth4webapi', 'jose']],
    ['the client of S3', ['@aws-sdk/client-s3']],
    ['what other commands need', more],
  ])('does not load %s', (_what, packages) => {
    expect(loaded.filter((name) => packages.includes(name))).toEqual([]);
  });
});

it('answers where its cache cannot be made', () => {
  const program = fileURLToPath(new URL('../bin/coxswain.mjs', import.meta.url));
  const env = { ...process.env, XDG_CACHE_HOME: '/proc/none', NODE_COMPILE_CACHE: '' };
  const { status } = spawnSync(process.execPath, [program, '--version'], { env, timeout: 60_000 });
  expect(status).toBe(0);
});
