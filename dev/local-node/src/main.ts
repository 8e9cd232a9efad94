import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { startLocalNodes } from './local-nodes.ts';

const USAGE = `Usage: node main.ts --kubeconfig FILE --fabric FILE --images FILE --directory FOLDER --kubelet-client-ca FILE
                    [--mounts auto|root|user|rewrite] [--heartbeat-ms MS]

Plays the nodes of a fabric file on this machine: pods run as plain processes. For development and tests only.
{node} in the name of the kubeconfig stands for the name of each node. Ends, with every process of every pod, on
SIGTERM or SIGINT, and however else it ends.`;

const Arguments = z.object({
  kubeconfig: z.string(),
  fabric: z.string(),
  images: z.string(),
  directory: z.string(),
  'kubelet-client-ca': z.string(),
  mounts: z.enum(['auto', 'root', 'user', 'rewrite']).default('auto'),
  'heartbeat-ms': z.coerce.number().int().positive().default(10_000),
});

async function main(): Promise<void> {
  const option = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      kubeconfig: option,
      fabric: option,
      images: option,
      directory: option,
      'kubelet-client-ca': option,
      mounts: option,
      'heartbeat-ms': option,
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    console.log(USAGE);
    return;
  }
  const parsed = Arguments.safeParse(values);
  if (!parsed.success) {
    console.error(`${z.prettifyError(parsed.error)}\n\n${USAGE}`);
    process.exitCode = 2;
    return;
  }
  const given = parsed.data;
  console.error(
    'WARNING: local nodes run pods as plain processes of this machine, without isolation. For development and tests only.',
  );
  const agent = await startLocalNodes({
    kubeconfig: (node) => given.kubeconfig.replaceAll('{node}', node),
    fabricFile: given.fabric,
    imagesFile: given.images,
    directory: given.directory,
    kubeletClientCaPem: readFileSync(given['kubelet-client-ca'], 'utf8'),
    mounts: given.mounts,
    heartbeatMs: given['heartbeat-ms'],
  });
  console.error(`local nodes ready: ${agent.nodeNames.join(', ')}; mounts: ${agent.mountMode}`);
  const stop = (): void => {
    void agent.stop().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

await main();
