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

/** A command of a chart hook. Resolves with its output, rejects with a message for the administrator. */
type Command = (client: KubeClient, args: readonly string[]) => Promise<string>;

/** Commands by first argument; without one the operator itself runs. */
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
      const lines = await underLease({ client, clock, lease: placeOf(lease), onError }, (guard) =>
        installDefinitions({ client, clock, definitions, release, guard }),
      );
      return lines.join('\n');
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
      return `removed finalizers from ${pods} pods and ${jobs} jobs${nodes === 0 ? '' : `, and fabric labels from ${nodes} nodes`}`;
    },
  },
};

/** Longer than an API server needs to apply the removal of the operator's rights. */
const LET_GO_PAUSE_MS = 2_000;

/** Runs a command of a chart hook, writes its output and resolves with the exit code. */
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

/** The command of a command line. Throws a message if there is no such command. */
function commandOf([name = '', ...args]: readonly string[]): () => Promise<string> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    throw new Error(
      `"${name}" is not a command; use one of ${Object.keys(COMMANDS).join(', ')}, or no argument to run the operator`,
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
  throw new Error(
    `"${lease}" is not the name of a Lease; write NAMESPACE/NAME, for instance coxswain-system/coxswain-operator`,
  );
}
