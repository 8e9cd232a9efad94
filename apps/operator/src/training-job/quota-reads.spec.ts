import type { KubeClient } from '@coxswain/kube';
import { checkQuotas, NoRoomInQuotaError } from './quota-reads.ts';

const GPUS = 'requests.nvidia.com/gpu';

/** A client whose namespace has these quotas; undefined: it may not list them. */
function clientOf(quotas: readonly (readonly [name: string, hard: string, used: string])[] | undefined): {
  readonly paths: string[];
  readonly client: Pick<KubeClient, 'list'>;
} {
  const paths: string[] = [];
  const list = async (path: string): Promise<unknown> => {
    paths.push(path);
    if (quotas === undefined) throw new Error('forbidden');
    const items = quotas.map(([name, hard, used]) => ({
      metadata: { name },
      spec: { hard: { [GPUS]: hard } },
      status: { used: { [GPUS]: used } },
    }));
    return { items };
  };
  return { paths, client: { list } as unknown as Pick<KubeClient, 'list'> };
}

describe('a gang of 16 GPUs in two pods', () => {
  it.each<[string, Parameters<typeof clientOf>[0], string | undefined]>([
    ['may begin without quotas', [], undefined],
    ['may begin if the quota has room for all pods', [['team', '32', '16']], undefined],
    ['may begin if quotas cannot be read: the creation of pods asks them', undefined, undefined],
    [
      'waits with the names and numbers of the quota that has room for one pod only',
      [
        ['wide', '64', '0'],
        ['team', '32', '24'],
      ],
      `The pods of the job together need more than a quota allows: exceeded quota: team, requested: ${GPUS}=16, used: ${GPUS}=24, limited: ${GPUS}=32.`,
    ],
  ])('%s', async (_sentence, quotas, want) => {
    const { client, paths } = clientOf(quotas);
    const refused = await checkQuotas(client, 'team-a', { gpus: 16, pods: 2 }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refused === undefined || refused instanceof NoRoomInQuotaError).toBe(true);
    expect(refused instanceof Error ? refused.message : undefined).toBe(want);
    expect(paths).toEqual(['/api/v1/namespaces/team-a/resourcequotas']);
  });
});
