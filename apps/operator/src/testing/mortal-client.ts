/** The connection of an operator that is killed at one of its writes. */
import type { KubeClient } from '@coxswain/kube';

/** What controllers of pods on checkpoints call. */
export type Client = Pick<KubeClient, 'get' | 'list' | 'create' | 'delete' | 'replace'>;
/** When it is killed, relative to the write. */
export type Moment = 'beforeSend' | 'answerLost' | 'afterAnswer';
export const MOMENTS: readonly Moment[] = ['beforeSend', 'answerLost', 'afterAnswer'];
export const WRITES = ['create', 'replace', 'delete'] as const;

/** A write, by its number, and the moment. */
export interface Kill {
  readonly write: number;
  readonly moment: Moment;
}

/** After that write, none of its calls reach the server. */
export function mortal(api: Client, kill: Kill): { readonly client: Client; readonly isDead: () => boolean } {
  let writes = 0;
  let isDead = false;
  const die = (): never => {
    isDead = true;
    throw new Error('the operator is killed');
  };
  const call = async (verb: string, send: () => Promise<unknown>): Promise<never> => {
    if (isDead) die();
    const isThis = WRITES.some((one) => one === verb) && writes++ === kill.write;
    if (isThis && kill.moment === 'beforeSend') die();
    const answer = await send();
    if (isThis && kill.moment === 'answerLost') die();
    if (isThis) isDead = true;
    return answer as never;
  };
  const client: Client = {
    get: (...all) => call('get', () => api.get(...all)),
    list: (...all) => call('list', () => api.list(...all)),
    create: (...all) => call('create', () => api.create(...all)),
    replace: (...all) => call('replace', () => api.replace(...all)),
    delete: (...all) => call('delete', () => api.delete(...all)),
  };
  return { client, isDead: () => isDead };
}
