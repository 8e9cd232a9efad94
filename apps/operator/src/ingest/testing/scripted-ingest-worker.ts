/** In place of the thread of the reports: it listens nowhere, and does what the name of the host says. */
import { parentPort, workerData } from 'node:worker_threads';
import type { FromIngest, IngestStart, ToIngest } from '../ingest-messages.ts';

const { listenHost, listenPort } = workerData as IngestStart;
const post = (message: FromIngest): void => parentPort?.postMessage(message);

const digest = (text: string): void =>
  post({
    kind: 'digest',
    digest: {
      contacts: [],
      sentAtMs: 0,
      progress: [],
      ended: [text],
      launchers: [],
      preflights: [],
      health: [],
      standings: [],
      losses: {},
      trained: [],
      counts: {},
      connections: 0,
      utilisation: 0,
    },
  });

if (listenHost === 'taken') throw new Error('the port is taken');
post({ kind: 'listening', port: listenPort === 0 ? 4321 : listenPort });

parentPort?.on('message', (message: ToIngest) => {
  switch (message.kind) {
    case 'refuse':
      if (message.why === 'throw') throw new Error('the thread died');
      if (message.why === 'exit') process.exit(0);
      if (message.why === 'hang') for (;;);
      if (message.why === 'ask') {
        const pod = { namespace: 'research', name: 'p', uid: 'pod-1' };
        post({ kind: 'question', id: 7, question: { kind: 'findPod', pod } });
      }
      return;
    case 'answer':
      return digest(`answer ${message.id}: ${JSON.stringify(message.answer)}`);
    case 'readEvidence': {
      const { id, jobUid, ranks } = message;
      if (jobUid === 'unanswered') return digest('asked');
      if (jobUid === 'fatal') throw new Error('the thread died');
      const places = ranks.map((rank) => ({ rank }));
      const evidence = { jobUid, epoch: 1, incarnation: 1, step: 7, ranks: places, slowRanks: [] };
      return post({ kind: 'evidence', id, evidence });
    }
    case 'view':
      return digest(`sees ${message.jobs.length} jobs`);
    case 'stop':
      post({ kind: 'stopped' });
      parentPort?.close();
      return;
    default:
      return;
  }
});
