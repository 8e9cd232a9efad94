import {
  createKubeClientOver,
  NotLeadingError,
  passGuard,
  systemClock,
  type KubeClient,
  type Replacement,
} from '@coxswain/kube';
import { anObject } from '@coxswain/kube/testing';
import { leadingClient } from './leading-client.ts';

/** A leading client over a transport whose turn comes late: `beforeSending` runs after the client's own look at the lease. */
function aClient(): { client: KubeClient; sent: string[]; world: { leads: boolean; beforeSending: () => void } } {
  const world = { leads: true, beforeSending: (): void => undefined };
  const sent: string[] = [];
  const transport = {
    send: async (request: Parameters<typeof passGuard>[0]) => {
      world.beforeSending();
      passGuard(request);
      sent.push(request.method);
      const body = (async function* () {
        yield Buffer.from('{}');
      })();
      return { status: 200, headers: {}, body };
    },
    refreshCredentials: () => undefined,
    close: async () => undefined,
  };
  const client = createKubeClientOver(transport, { userAgent: 'test', clock: systemClock });
  const assertLeading = (): void => {
    if (!world.leads) throw new NotLeadingError('another replica leads');
  };
  return { client: leadingClient(client, assertLeading), sent, world };
}

const writes: readonly [string, (client: KubeClient) => Promise<unknown>][] = [
  ['create', (client) => client.create('/x', {})],
  ['apply', (client) => client.apply('/x', {}, { fieldManager: 'm' })],
  ['patch', (client) => client.patch('/x', {}, { type: 'merge' })],
  ['replace', (client) => client.replace('/x', anObject('x', { version: 7 }) as Replacement)],
  ['delete', (client) => client.delete('/x', { uid: 'u' })],
];

describe('a client that writes only while it leads', () => {
  it.each(writes)(
    '%s: passes while it leads, and is refused without a byte sent when it does not',
    async (_, write) => {
      const { client, sent, world } = aClient();
      await write(client);
      world.leads = false;
      await expect(write(client)).rejects.toBeInstanceOf(NotLeadingError);
      expect(sent).toHaveLength(1);
    },
  );

  it.each(writes)('%s: is refused at the last moment when the lease went while it waited', async (_, write) => {
    const { client, sent, world } = aClient();
    world.beforeSending = () => {
      world.leads = false;
    };
    await expect(write(client)).rejects.toBeInstanceOf(NotLeadingError);
    expect(sent).toEqual([]);
  });
});
