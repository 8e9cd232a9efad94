/** An operator that leads and returns the stack traces of every job. It sends no series. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type JobStacks, OBSERVED_JOBS_PATH, type ObservedJobs, STACKS_PATH } from '@coxswain/api-types';
import { createAuthority } from '@coxswain/local-cluster';

/** Where the API reaches the operator, and with which files. */
export interface FakeOperator {
  readonly url: string;
  readonly caFile: string;
  readonly tokenFile: string;
  close(): Promise<void>;
}

/** Starts it. `frameOf` returns the text of each stack frame of a job, by the UID of the job. */
export async function startFakeOperator(directory: string, frameOf: (jobUid: string) => string): Promise<FakeOperator> {
  const authority = await createAuthority('fake-operator');
  const { certPem, keyPem } = await authority.issue({ commonName: 'operator', hosts: ['127.0.0.1'] });
  const [caFile, tokenFile] = [join(directory, 'operator-ca.crt'), join(directory, 'operator-token')];
  writeFileSync(caFile, authority.certPem);
  writeFileSync(tokenFile, 'a-token\n');
  const server = createServer({ cert: certPem, key: keyPem }, (request, answer) => {
    const target = new URL(request.url ?? '', 'https://operator');
    answer.setHeader('content-type', 'application/json');
    if (request.method === 'POST' && target.pathname === STACKS_PATH) {
      answer.end(JSON.stringify(stacksWith(frameOf(target.searchParams.get('jobUid') ?? ''))));
      return;
    }
    if (target.pathname === OBSERVED_JOBS_PATH) {
      const none: ObservedJobs = { jobs: [], leftOut: 0 };
      answer.end(JSON.stringify(none));
      return;
    }
    // The stream of series stays open and empty.
    answer.flushHeaders();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caFile,
    tokenFile,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function stacksWith(frame: string): JobStacks {
  const thread = { thread: 'MainThread', isMain: true, ranks: '0-3', rankCount: 4 };
  return {
    takenAt: new Date().toISOString(),
    epoch: 1,
    rankCount: 4,
    groups: [{ ...thread, frames: [frame] }],
    silent: [],
    leftOut: '',
  };
}
