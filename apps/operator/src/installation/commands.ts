import { setTimeout as delay } from 'node:timers/promises';
import { createKubeClient, systemClock, type KubeClient } from '@coxswain/kube';
import { EXIT_CODES } from '../process/exit-codes.ts';
import { readDefinitions } from './definition.ts';
import { installDefinitions } from './install-definitions.ts';
import { removeFinalizers } from './remove-finalizers.ts';
import { removeLabels } from './remove-labels.ts';
import { refuseRunningJobs } from './refuse-running-jobs.ts';
import { refuseWhileLed } from './refuse-while-led.ts';
import { underLease } from './under-lease.ts';

/** What a hook of the chart runs: resolves to what it says, rejects with a sentence. */
type Command = (client: KubeClient, args: readonly string[]) => Promise<string>;

/** By their first argument; without one the operator itself runs. */
const COMMANDS: Readonly<Record<string, { readonly needs: readonly string[]; readonly run: Command }>> = {
  'install-definitions': {
    needs: [
      'the folder of the definitions',
      'a Lease as NAMESPACE/NAME',
      'the release that they are of, such as 0.2.0',
    ],
    run: async (client, [folder = '', lease = '', release = '']) => {
      const definitions = readDefinitions(folder);
      const clock = systemClock;
      const onError = (error: unknown): void => void process.stderr.write(`${String(error)}\n`);
      const said = await underLease({ client, clock, lease: placeOf(lease), onError }, (guard) =>
        installDefinitions({ client, clock, definitions, release, guard }),
      );
      return said.join('\n');
    },
  },
  'refuse-running-jobs': {
    needs: ["the release's namespace"],
    run: (client, [namespace = '']) => refuseRunningJobs({ client, namespace }),
  },
  'let-go': {
    needs: ["the operator's Lease as NAMESPACE/NAME, for instance coxswain-system/coxswain-operator"],
    run: async (client, [lease = '']) => {
      await refuseWhileLed({ client, clock: systemClock, lease: placeOf(lease) });
      const { pods, jobs } = await removeFinalizers({ client, pause: () => delay(LET_GO_PAUSE_MS) });
      const nodes = await removeLabels({ client });
      return `let go of ${pods} pods and ${jobs} jobs${nodes === 0 ? '' : `, and took our labels from ${nodes} nodes`}`;
    },
  },
};

/** Longer than an API server takes to hear that the operator's rights are gone. */
const LET_GO_PAUSE_MS = 2_000;

/** Runs what the chart's hooks ask of the operator's image; gives the exit code. What it says goes out before. */
export async function runCommand(
  argv: readonly string[],
  { stdout, stderr }: Pick<NodeJS.Process, 'stdout' | 'stderr'>,
): Promise<number> {
  try {
    stdout.write(`${await commandOf(argv)()}\n`);
    return EXIT_CODES.stopped;
  } catch (error) {
    stderr.write(`coxswain-operator: ${error instanceof Error ? error.message : String(error)}\n`);
    return EXIT_CODES.failed;
  }
}

/** What a command line asks for. Throws a sentence where it asks for something that there is not. */
function commandOf([name = '', ...args]: readonly string[]): () => Promise<string> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    throw new Error(
      `"${name}" is no command: there are ${Object.keys(COMMANDS).join(', ')}, and none for the operator itself`,
    );
  }
  const missing = command.needs[args.filter((arg) => arg !== '').length];
  if (missing !== undefined || args.length > command.needs.length) {
    throw new Error(`${name} needs ${command.needs.join(', ')}: ${args.length} of ${command.needs.length} are given`);
  }
  return () => withClient(name, (client) => command.run(client, args));
}

async function withClient<T>(name: string, work: (client: KubeClient) => Promise<T>): Promise<T> {
  const kubeconfigPath = process.env['COXSWAIN_KUBECONFIG'];
  const client = createKubeClient({
    ...(kubeconfigPath === undefined ? {} : { kubeconfigPath }),
    userAgent: `coxswain-${name}`,
  });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

function placeOf(lease: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = '', ...more] = lease.split('/');
  if (namespace !== '' && name !== '' && more.length === 0) return { namespace, name };
  throw new Error(`"${lease}" names no Lease: write NAMESPACE/NAME, for instance coxswain-system/coxswain-operator`);
}
