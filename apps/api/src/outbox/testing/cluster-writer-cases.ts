/* More than 400 lines: each sentence holds for rows in memory and in PostgreSQL, so both run this one list of them. */
import { LABELS, type TrainingJob, type TrainingJobSpec } from '@coxswain/api-types';
import { aJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import { KubeApiError } from '@coxswain/kube';
import { FakeKubeApi } from '@coxswain/kube/testing';
import { aLayout } from '@coxswain/layout/testing';
import { collectionOf } from '../../cluster/resources.ts';
import type { JobRow } from '../../jobs/job-row.ts';
import type { DesiredChange } from '../../jobs/job-table.ts';
import { ClusterWriter, type WriterClient } from '../cluster-writer.ts';
import type { JobRowStore } from '../job-row-store.ts';

/** Rows of a cluster of their own, and what people and the test do with them. */
export interface RowsUnderTest {
  readonly rows: JobRowStore;
  /** Records a job in namespace `research` and gives its id. */
  insert(job: { readonly name: string; readonly spec: TrainingJobSpec }): Promise<string>;
  /** Records a change of it. */
  change(jobId: string, change: DesiredChange): Promise<void>;
  /** `type: message` of what the writer has put into its history. */
  eventsOf(jobId: string): Promise<readonly string[]>;
}

const JOBS = collectionOf('trainingjobs', 'research');
const NAME = 'tiny-gpt';
const PATH = `${JOBS}/${NAME}`;

const answer = (status: number, reason: string, message = 'no'): KubeApiError =>
  new KubeApiError({ status, reason, message: `POST /x was answered ${status}: ${message}` });
const CONFLICT = answer(409, 'Conflict');
const AWAY = answer(0, 'ConnectionFailed');

/** One suite for the writer over rows in memory and over rows in the database. */
export function describeClusterWriter(where: string, rowsUnderTest: () => Promise<RowsUnderTest>): void {
  describe(`the cluster writer over rows ${where}`, () => {
    let kube: FakeKubeApi;
    let world: RowsUnderTest;
    let jobId: string;

    beforeEach(async () => {
      kube = new FakeKubeApi();
      world = await rowsUnderTest();
      jobId = await world.insert({ name: NAME, spec: aJobSpec() });
    });

    const apply = (client: WriterClient = kube): Promise<void> =>
      new ClusterWriter({ rows: world.rows, kube: client }).apply(jobId);
    const row = async (): Promise<JobRow> => {
      const found = await world.rows.find(jobId);
      if (found === undefined) throw new Error('the row is gone');
      return found;
    };
    const isPending = async (): Promise<boolean> => {
      const { generation, applied_generation: applied } = await row();
      return Number(generation) > Number(applied);
    };
    const resource = (): TrainingJob | undefined => kube.objects<TrainingJob>(JOBS)[0];
    const refuseNext = (verb: string, ...errors: readonly KubeApiError[]): void => {
      const left = [...errors];
      kube.interfere = (request) => {
        const error = request.verb === verb ? left.shift() : undefined;
        if (error !== undefined) throw error;
      };
    };
    /** The writer's client, with something that happens just before or after its calls. */
    const hooked = (hooks: Partial<Record<'beforeGet' | 'afterCreate' | 'beforePatch', () => Promise<void>>>) => {
      const client: WriterClient = {
        get: async (...call) => {
          await hooks.beforeGet?.();
          return kube.get(...call);
        },
        create: async <T>(path: string, body: unknown) => {
          const made = await kube.create<T>(path, body);
          await hooks.afterCreate?.();
          return made;
        },
        patch: async (...call) => {
          await hooks.beforePatch?.();
          return kube.patch(...call);
        },
        delete: (...call) => kube.delete(...call),
      };
      return client;
    };
    const foreign = (uid?: string): TrainingJob =>
      aTrainingJob({ metadata: { name: NAME, ...(uid === undefined ? {} : { uid }) }, spec: { suspend: true } });
    const putForeign = async (): Promise<TrainingJob> => {
      const { name, namespace } = foreign().metadata;
      return kube.create<TrainingJob>(JOBS, { ...foreign(), metadata: { name, namespace } });
    };
    const created = async (): Promise<void> => {
      await apply();
      kube.writes.length = 0;
    };

    describe('of a job that has no resource', () => {
      it('brings a change of labels alone, and leaves those of others', async () => {
        await apply();
        await kube.patch(PATH, { metadata: { labels: { cost: '7', stage: 'old' } } }, { type: 'merge' });
        await world.change(jobId, { labels: { team: 'vision', stage: null } });
        await apply();
        expect(resource()?.metadata.labels).toEqual({ [LABELS.jobId]: jobId, cost: '7', team: 'vision' });
        expect(await row()).toMatchObject({ labels: { cost: '7', team: 'vision' }, desired_labels: null });
        expect(await isPending()).toBe(false);
      });

      it('creates it by POST under our id, and the row knows its UID', async () => {
        await apply();
        expect(kube.writes).toMatchObject([
          { verb: 'create', path: JOBS, body: { metadata: { name: NAME, labels: { [LABELS.jobId]: jobId } } } },
        ]);
        expect(await row()).toMatchObject({ uid: resource()?.metadata.uid, state: 'Queued' });
        expect(await isPending()).toBe(false);
      });

      it('creates it as it was asked for last', async () => {
        await world.change(jobId, { suspend: true });
        await apply();
        expect(resource()?.spec.suspend).toBe(true);
        expect(kube.writes).toHaveLength(1);
      });

      it('finds the object again that an unanswered create has left', async () => {
        const lost = hooked({ afterCreate: () => Promise.reject(AWAY) });
        await expect(apply(lost)).rejects.toBe(AWAY);
        expect(await row()).toMatchObject({ uid: null, state: 'Submitting' });
        await apply();
        expect(await row()).toMatchObject({ uid: resource()?.metadata.uid });
        expect(await isPending()).toBe(false);
        expect(kube.writes.map(({ verb }) => verb)).toEqual(['create']);
      });

      it('refuses a name that an object without our id has, and leaves that object alone', async () => {
        const theirs = await putForeign();
        kube.writes.length = 0;
        await apply();
        expect(await row()).toMatchObject({ uid: null, state: 'Refused' });
        expect((await row()).summary).toMatch(/"tiny-gpt" is taken in the cluster/);
        expect(await world.eventsOf(jobId)).toEqual([expect.stringMatching(/^Refused: The name "tiny-gpt" is taken/)]);
        expect(resource()).toEqual(theirs);
        expect(kube.writes).toEqual([]);
      });

      it('is deleted after it was refused, though another job bears its name by now', async () => {
        refuseNext('create', answer(422, 'Invalid', 'spec.model is wrong'));
        await apply();
        const next = await world.insert({ name: NAME, spec: aJobSpec() });
        await world.change(jobId, { delete: true });
        await apply();
        expect(await row()).toMatchObject({ state: 'Deleted', uid: null });
        expect(await world.rows.find(next)).toMatchObject({ state: 'Submitting', deleted_at: null });
      });

      it('creates it when whoever had the name was gone a moment later', async () => {
        refuseNext('create', answer(409, 'AlreadyExists'));
        await apply();
        expect(await row()).toMatchObject({ uid: resource()?.metadata.uid });
      });

      it.each<[string, KubeApiError, RegExp]>([
        [
          'validation',
          answer(422, 'Invalid', 'spec.model is wrong'),
          /^The cluster refused the job: spec.model is wrong$/,
        ],
        ['strict decoding', answer(400, 'BadRequest', 'unknown field "x"'), /unknown field "x"$/],
        ['admission', answer(403, 'Forbidden', 'exceeded quota'), /exceeded quota$/],
        ['a namespace that is not there', answer(404, 'NotFound', 'namespaces "research" not found'), /not found$/],
      ])('is told once that %s refuses it, and does not try again', async (_what, error, sentence) => {
        refuseNext('create', error);
        await apply();
        const refused = expect.stringMatching(sentence) as string;
        expect(await row()).toMatchObject({ state: 'Refused', summary: refused, apply_error: refused });
        expect(await world.eventsOf(jobId)).toHaveLength(1);
        expect(await isPending()).toBe(false);
      });

      it.each<[string, KubeApiError]>([
        ['the server is away', AWAY],
        ['the server is busy', answer(429, 'TooManyRequests')],
        ['the server fails', answer(500, 'InternalError')],
        ['the server has not read our kind yet', answer(404, 'NotFound', 'could not find the requested resource')],
        ['our rights are missing', answer(403, 'Forbidden', 'x is forbidden: User "api" cannot create resource')],
      ])('stays pending while %s, and is made later', async (_what, error) => {
        refuseNext('create', error);
        await expect(apply()).rejects.toBe(error);
        expect(await row()).toMatchObject({ state: 'Submitting' });
        expect(await isPending()).toBe(true);
        await apply();
        expect(await row()).toMatchObject({ uid: resource()?.metadata.uid });
      });

      it('is made once by two workers at a time', async () => {
        await Promise.all([apply(), apply()]);
        expect(kube.writes.map(({ verb }) => verb)).toEqual(['create']);
        expect(await isPending()).toBe(false);
      });

      it('is never made when it was deleted before', async () => {
        await world.change(jobId, { delete: true });
        await apply();
        expect(await row()).toMatchObject({ state: 'Deleted' });
        expect(kube.writes).toEqual([]);
      });

      it('is deleted by its UID when an unanswered create had made it', async () => {
        await expect(apply(hooked({ afterCreate: () => Promise.reject(AWAY) }))).rejects.toBe(AWAY);
        const uid = resource()?.metadata.uid;
        await world.change(jobId, { delete: true });
        await apply();
        expect(kube.writes.at(-1)).toMatchObject({ verb: 'delete', path: PATH, body: { uid } });
        expect(resource()).toBeUndefined();
      });

      it('leaves somebody else’s object alone when it was deleted before', async () => {
        const theirs = await putForeign();
        await world.change(jobId, { delete: true });
        await apply();
        expect(await row()).toMatchObject({ state: 'Deleted' });
        expect(resource()).toEqual(theirs);
      });
    });

    describe('of a job that has a resource', () => {
      beforeEach(created);

      it('asks nothing when nothing was asked of it', async () => {
        kube.interfere = () => {
          throw new Error('a call');
        };
        await apply();
      });

      it('writes a change with the UID and the version that it has read', async () => {
        const { uid, resourceVersion } = resource()?.metadata ?? {};
        await world.change(jobId, { suspend: true });
        await apply();
        expect(kube.writes).toEqual([
          { verb: 'patch', path: PATH, body: { metadata: { uid, resourceVersion }, spec: { suspend: true } } },
        ]);
        expect(await row()).toMatchObject({ spec: { suspend: true }, desired_suspend: null });
        expect(await isPending()).toBe(false);
      });

      it('writes nothing when the resource is as it was asked for already', async () => {
        await world.change(jobId, { suspend: false });
        await apply();
        expect(kube.writes).toEqual([]);
        expect(await isPending()).toBe(false);
      });

      it('suspends a running job before it changes its layout', async () => {
        await world.change(jobId, { suspend: true });
        await world.change(jobId, { suspend: false, layout: aLayout({ dataParallelDegree: 4 }) });
        await apply();
        expect(kube.writes.map(({ body }) => (body as { spec: object }).spec)).toEqual([
          { suspend: true },
          { suspend: false, layout: expect.objectContaining({ dataParallelDegree: 4 }) as object },
        ]);
      });

      it('cancels and does nothing else, whatever else was asked: cancel beats resume', async () => {
        await world.change(jobId, { suspend: true });
        await apply();
        await world.change(jobId, { suspend: false });
        await world.change(jobId, { cancel: true });
        kube.writes.length = 0;
        await apply();
        expect(kube.writes).toMatchObject([{ verb: 'patch', body: { spec: { cancel: true } } }]);
        expect(resource()?.spec).toMatchObject({ suspend: true, cancel: true });
        expect(await isPending()).toBe(false);
      });

      it('deletes it by its UID, whatever else was asked: delete beats all', async () => {
        const uid = resource()?.metadata.uid;
        await world.change(jobId, { cancel: true });
        await world.change(jobId, { delete: true });
        await apply();
        expect(kube.writes).toEqual([{ verb: 'delete', path: PATH, body: { uid, propagationPolicy: 'Background' } }]);
        // Deleted is said when the object is gone: finalizers may take their time.
        expect(await row()).toMatchObject({ state: 'Deleting', deleted_at: null });
        expect(await isPending()).toBe(false);
      });

      it.each<[string, DesiredChange]>([
        ['a change', { suspend: true }],
        ['a delete', { delete: true }],
      ])('never brings a missing object back for %s', async (_what, change) => {
        await kube.delete(PATH, { uid: resource()?.metadata.uid ?? '' });
        kube.writes.length = 0;
        await world.change(jobId, change);
        await apply();
        expect(kube.writes).toEqual([]);
        expect(await row()).toMatchObject({ state: 'Deleted' });
      });

      it.each<[string, DesiredChange]>([
        ['changes', { suspend: false, cancel: true }],
        ['deletes', { delete: true }],
      ])('never %s the object that has its name now', async (_what, change) => {
        await kube.delete(PATH, { uid: resource()?.metadata.uid ?? '' });
        const theirs = await putForeign();
        await world.change(jobId, change);
        await apply();
        expect(resource()).toEqual(theirs);
        expect(await row()).toMatchObject({ state: 'Deleted' });
      });

      it('reads again after a conflict', async () => {
        await world.change(jobId, { suspend: true });
        refuseNext('patch', CONFLICT, CONFLICT);
        await apply();
        expect(resource()?.spec.suspend).toBe(true);
        expect(await isPending()).toBe(false);
      });

      it('gives way for a while after eight conflicts in a row', async () => {
        await world.change(jobId, { suspend: true });
        refuseNext('patch', ...Array<KubeApiError>(8).fill(CONFLICT));
        await expect(apply()).rejects.toThrow(/changed by others 8 times/);
        expect(await isPending()).toBe(true);
      });

      it('is deleted when the object went away between read and write', async () => {
        await world.change(jobId, { suspend: true });
        const uid = resource()?.metadata.uid ?? '';
        let isThere = true;
        const beforePatch = async (): Promise<void> => {
          if (isThere) await kube.delete(PATH, { uid });
          isThere = false;
        };
        await apply(hooked({ beforePatch }));
        expect(await row()).toMatchObject({ state: 'Deleted' });
      });

      it('goes on as it was when the cluster refuses the change, and its history says so', async () => {
        await world.change(jobId, { suspend: true });
        refuseNext('patch', answer(422, 'Invalid', 'layout is immutable'));
        await apply();
        expect(await row()).toMatchObject({ spec: { suspend: false }, desired_suspend: null, state: 'Queued' });
        expect(await world.eventsOf(jobId)).toEqual([
          'ChangeRefused: The cluster refused the change: layout is immutable',
        ]);
        expect(await isPending()).toBe(false);
      });

      it('says why a change was refused, and that it is not tried again, until the next change is applied', async () => {
        await world.change(jobId, { suspend: true });
        refuseNext('patch', answer(403, 'Forbidden', 'exceeded quota: gpus'));
        await apply();
        expect(await row()).toMatchObject({
          apply_error: 'The cluster refused the change: exceeded quota: gpus',
          apply_failing_since: expect.any(Date) as Date,
          apply_retry_at: null,
        });
        await world.change(jobId, { labels: { team: 'vision' } });
        await apply();
        expect(await row()).toMatchObject({ apply_error: null, apply_failing_since: null });
      });

      it.each<[string, DesiredChange]>([
        ['patch', { suspend: true }],
        ['delete', { delete: true }],
        ['get', { suspend: true }],
      ])('stays pending while the server does not answer a %s, and is written later', async (verb, change) => {
        await world.change(jobId, change);
        refuseNext(verb, AWAY);
        await expect(apply()).rejects.toBe(AWAY);
        expect(await isPending()).toBe(true);
        await apply();
        expect(await isPending()).toBe(false);
      });

      it.each<[string, KubeApiError]>([
        ['is gone', answer(404, 'NotFound')],
        ['is another one by now', CONFLICT],
      ])('is deleted when the delete finds that the object %s', async (_what, error) => {
        await world.change(jobId, { delete: true });
        refuseNext('delete', error);
        await apply();
        expect(await row()).toMatchObject({ state: 'Deleted' });
      });

      it('applies what is asked after the resource was read, and before the row', async () => {
        await world.change(jobId, { suspend: true });
        let isFirst = true;
        const beforeGet = async (): Promise<void> => {
          if (isFirst) await world.change(jobId, { cancel: true });
          isFirst = false;
        };
        await apply(hooked({ beforeGet }));
        expect(resource()?.spec).toMatchObject({ suspend: false, cancel: true });
        expect(await isPending()).toBe(false);
      });

      it('keeps a change pending that comes while an earlier one is written', async () => {
        await world.change(jobId, { suspend: true });
        const beforePatch = (): Promise<void> => world.change(jobId, { cancel: true });
        await apply(hooked({ beforePatch }));
        expect(resource()?.spec).toMatchObject({ suspend: true, cancel: false });
        expect(await row()).toMatchObject({ desired_cancel: true });
        expect(await isPending()).toBe(true);
        await apply();
        expect(resource()?.spec).toMatchObject({ suspend: true, cancel: true });
        expect(await isPending()).toBe(false);
      });
    });

    it('does nothing for a job that there is not', async () => {
      jobId = crypto.randomUUID();
      kube.interfere = () => {
        throw new Error('a call');
      };
      await apply();
    });
  });
}
