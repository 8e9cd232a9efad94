import { startSystem, waitFor, type CoxswainSystem } from '@coxswain/test-harness';
import { connect } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleeperSpec } from './support/jobs.ts';
import { createProject, jobIn, submit, type TestProject } from './support/project.ts';
let system: CoxswainSystem; let mine: TestProject; let theirs: TestProject;
beforeAll(async () => { system = await startSystem(); mine = await createProject(system, 'mine'); theirs = await createProject(system, 'theirs'); }, 180_000);
afterAll(async () => { await system.stop(); }, 60_000);
const API = 'training.coxswain.dev/v1alpha1';
const out: string[] = [];
const k = async (args: string[], object?: object): Promise<string> => system.plane.kubectl(args, object ? { input: JSON.stringify(object) } : {}).catch((e: Error) => `ERR ${e.message.slice(0, 400)}`);
it('odd', async () => {
  const base = sleeperSpec({ steps: 2, stepMs: 10 }, { layout: { dataParallelDegree: 1 } });
  const odd: Record<string, object> = {
    cpu: { resources: { cpuPerGpu: '9'.repeat(32) } },
    mem0: { resources: { memoryPerGpu: '0' } },
    memtiny: { resources: { memoryPerGpu: '0.0000001Ki' } },
    cpudec: { resources: { cpuPerGpu: '0.0000000000000000000000000001m' } },
    nulpath: { checkpoint: { claimName: 'checkpoints', path: 'a\0b', everySteps: 10 } },
    nlpath: { checkpoint: { claimName: 'checkpoints', path: 'a\nb/./x//', everySteps: 10 } },
    unipath: { checkpoint: { claimName: 'checkpoints', path: '🚣'.repeat(500), everySteps: 10 } },
    noclaim: { checkpoint: { claimName: 'nothere', path: '', everySteps: 10 } },
    nulcmd: { engine: { ...base.engine, command: ['sh', '-c', 'printf "a\\0b"; exit 1'] } },
    nulcmd2: { engine: { ...base.engine, command: ['sh\0', ''] } },
    emptyimage: { engine: { ...base.engine, image: ' ' } },
    hugeargs: { engine: { ...base.engine, args: Array.from({ length: 256 }, () => 'x'.repeat(4096)) } },
    hugeenv: { engine: { ...base.engine, env: Array.from({ length: 100 }, (_, i) => ({ name: `A${i}`, value: 'é'.repeat(4096) })), args: Array.from({ length: 200 }, () => 'é'.repeat(2048)) } },
    pathenv: { engine: { ...base.engine, env: [{ name: 'PATH', value: '/nowhere' }, { name: 'NODE_OPTIONS', value: '--require=/x' }, { name: 'HOME', value: '' }] } },
    dupenv: { engine: { ...base.engine, env: [{ name: '__proto__', value: 'x' }, { name: 'constructor', value: 'y' }] } },
    world: { layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 32768 } },
    delay: { restartPolicy: { maxRestarts: 0, delaySeconds: 3600 }, engine: { ...base.engine, command: ['false'] } },
  };
  for (const [name, change] of Object.entries(odd)) {
    const answer = await k(['create', '-f', '-'], { apiVersion: API, kind: 'TrainingJob', metadata: { name, namespace: 'mine' }, spec: { ...base, suspend: false, ...change } });
    out.push(`${name}: ${answer.trim().slice(0, 300)}`);
  }
  // slow loris
  const url = new URL(system.apiUrl);
  const started = Date.now();
  const loris = new Promise<number>((resolve) => {
    const socket = connect(Number(url.port), url.hostname, () => {
      socket.write('POST /graphql HTTP/1.1\r\nhost: x\r\n');
      const t = setInterval(() => socket.write('x-a: b\r\n'), 1000);
      socket.on('close', () => { clearInterval(t); resolve(Date.now() - started); });
      socket.on('error', () => undefined);
      socket.on('data', (d) => out.push(`loris data ${String(d).slice(0, 60)}`));
    });
  });
  const edited = await submit(mine, 'edited', { ...base, suspend: true });
  await jobIn(mine, edited.id, ['Suspended']);
  const big = 9007199254740991;
  out.push('patch ' + (await k(['-n', 'mine', 'patch', 'trainingjob', 'edited', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status: { epoch: big, summary: 'a\u0000b', restarts: { total: big, charged: big }, checkpoint: { name: 'x', step: big }, progress: { step: big, loss: 1e308, etaSeconds: big, reportedAt: '0000-01-01T00:00:00Z' }, attempts: [{ epoch: 3000000000, stage: 'Ended', placement: 'p', layout: base.layout, startedAt: '0000-01-01T00:00:00Z', outcome: 'Failed', endedAt: '9999-12-31T23:59:59Z' }], conditions: [{ type: 'Failed', status: 'False', reason: 'X', message: 'm', lastTransitionTime: '0000-01-01T00:00:00Z' }] } })])));
  await new Promise((r) => setTimeout(r, 3000));
  const honest = await submit(theirs, 'honest', base);
  out.push('honest ' + (await jobIn(theirs, honest.id, ['Complete'], { deadlineMs: 60_000 }).then((j) => j.state, String)));
  const list = (await mine.api.jobPage('mine', { pageSize: 100 })).items;
  for (const j of list) out.push(`row ${j.name}: ${j.state} e${j.epoch} ${j.summary.slice(0, 220)}`);
  out.push(await k(['-n', 'mine', 'get', 'trainingjobs']));
  const g = await fetch(`${system.apiUrl}/graphql`, { method: 'POST', headers: { authorization: `Bearer ${system.adminToken}`, 'content-type': 'application/json' }, body: JSON.stringify({ query: '{ jobs(project: "-", pageSize: 100) { items { name state epoch restarts { total } progress { step etaSeconds } checkpoint { step } attempts { epoch } } } }' }) });
  out.push('gql ' + (await g.text()).slice(0, 600));
  out.push(`loris closed after ${await Promise.race([loris, new Promise((r) => setTimeout(() => r('never'), 45_000))])}`);
  for (const f of ['api.log', 'operator-0.log']) out.push(f, readFileSync(join(system.logsDirectory, f), 'utf8').split('\n').filter((l) => /"level":(40|50|60)|warn|error/i.test(l)).map((l) => l.slice(0, 400)).filter((l, i, a) => a.findIndex((o) => o.slice(60, 250) === l.slice(60, 250)) === i).slice(-30).join('\n'));
}, 200_000);
afterAll(() => { process.stdout.write(out.join('\n') + '\n'); });
