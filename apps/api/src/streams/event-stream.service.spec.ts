import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { aJob, aJobEvent, aStepPoint } from '@coxswain/api-types/testing';
import type { Job, JobEvent, StepPoint } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { createLogger } from '@coxswain/telemetry';
import type { Principal } from '../auth/principal.ts';
import { EventStreamService } from './event-stream.service.ts';
import { OpenStreams } from './open-streams.ts';

const principal: Principal = { tokenId: 't', name: 'test', role: 'viewer', project: null };

/** A reader of a stream: keeps what was written, and waits for what is still to come. */
class Reader extends EventEmitter {
  text = '';
  destroyed = false;
  writableLength = 0;

  write(text: string): boolean {
    this.text += text;
    this.emit('text');
    return true;
  }

  end(): void {
    this.emit('ended');
  }

  /** What was sent: `event 3`, `job`, `step`. */
  get sent(): readonly string[] {
    return this.text.split('\n\n').flatMap((block) => {
      const type = /^event: (\w+)/m.exec(block)?.[1];
      const id = /^id: (\d+)/m.exec(block)?.[1];
      return type === undefined ? [] : [id === undefined ? type : `${type} ${id}`];
    });
  }

  async until(count: number): Promise<readonly string[]> {
    while (this.sent.length < count) await new Promise((resolve) => this.once('text', resolve));
    return this.sent;
  }
}

describe('the stream of a job', () => {
  let job: Job;
  let events: JobEvent[];
  let steps: StepPoint[];
  let refusal: DomainError | undefined;
  let wake: () => void;
  let streams: OpenStreams;
  let reader: Reader;

  beforeEach(() => {
    job = aJob({ version: 1 });
    events = [];
    steps = [];
    refusal = undefined;
    wake = () => undefined;
    streams = new OpenStreams();
    reader = new Reader();
  });
  afterEach(() => streams.close());

  const service = (): EventStreamService =>
    new EventStreamService(
      {
        get: () => (refusal === undefined ? Promise.resolve(job) : Promise.reject(refusal)),
        requireRow: () => (refusal === undefined ? Promise.resolve({} as never) : Promise.reject(refusal)),
      },
      {
        eventsAfter: (_jobId, after) => Promise.resolve(events.filter(({ id }) => id > after)),
        stepsPosition: () => Promise.resolve(String(steps.length)),
        stepsChangedAfter: (_uid, position) =>
          Promise.resolve({ steps: steps.slice(Number(position)), position: String(steps.length) }),
      },
      { authenticate: () => Promise.resolve(principal) },
      {
        subscribe: (_jobId, onChange) => {
          wake = onChange;
          return () => undefined;
        },
      },
      streams,
      createLogger({ program: 'test', level: 'silent' }),
    );
  /** Opens the stream; it runs until `ended` settles. */
  const open = async (after = 0): Promise<{ readonly ended: Promise<void> }> => {
    const address = { project: 'research', jobId: job.id };
    const run = await service().open({ principal, address, after, authorization: 'Bearer x' });
    return { ended: run(reader as unknown as ServerResponse) };
  };

  it('begins with every event, and the job as it is now', async () => {
    events = [aJobEvent({ id: 1 }), aJobEvent({ id: 2 })];
    await open();
    expect(await reader.until(3)).toEqual(['event 1', 'event 2', 'job']);
  });

  it('goes on after the event that was seen last', async () => {
    events = [aJobEvent({ id: 1 }), aJobEvent({ id: 2 })];
    await open(1);
    expect(await reader.until(2)).toEqual(['event 2', 'job']);
  });

  it('sends the steps that come after it was opened, and none from before', async () => {
    steps = [aStepPoint({ step: 1 })];
    await open();
    await reader.until(1);
    steps.push(aStepPoint({ step: 2 }));
    wake();
    expect(await reader.until(2)).toEqual(['job', 'step']);
    expect(reader.text).toContain('"step":2');
  });

  it('sends the job again only when its version is another', async () => {
    await open();
    await reader.until(1);
    events.push(aJobEvent({ id: 1 }));
    wake();
    await reader.until(2);
    job = { ...job, version: 2 };
    wake();
    expect(await reader.until(3)).toEqual(['job', 'event 1', 'job']);
  });

  it('is not opened for a job that may not be read, and takes no place', async () => {
    refusal = new DomainError('NOT_FOUND', 'no such job');
    await expect(open()).rejects.toBe(refusal);
    expect(streams.count).toBe(0);
  });

  it.each<[string, () => void]>([
    ['the reader’s right to the job ends', () => (refusal = new DomainError('NOT_FOUND', 'no such job'))],
    ['the reader leaves', () => reader.emit('close')],
    ['the process stops', () => streams.close()],
    ['the reader leaves too much unread', () => (reader.writableLength = 2_000_000)],
  ])('ends when %s, and gives its place back', async (_what, happens) => {
    const { ended } = await open();
    await reader.until(1);
    expect(streams.count).toBe(1);
    happens();
    wake();
    await ended;
    expect(streams.count).toBe(0);
  });
});
