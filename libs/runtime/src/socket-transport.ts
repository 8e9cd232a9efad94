/**
 * Makes ranks in several islands of the network communicate over TCP. NCCL chooses its network in each process. If two processes choose differently,
 * it hangs. `NCCL_NET` applies before plugins are asked. The other variable keeps plugins that read only it from InfiniBand and RoCE. Source: NCCL
 * user guide, environment variables.
 */
import { CONTAINERS } from '@coxswain/api-types';
import { type Json, list } from './json.ts';
import { templateParts } from './template-parts.ts';

/** Set equally in every pod. Values of the runtime for these variables are dropped, for all nodes and for single NIC classes. */
const SOCKETS: Readonly<Record<string, string>> = { NCCL_NET: 'Socket', NCCL_IB_DISABLE: '1' };

/** The pod with ranks that use sockets only. */
export function withSocketTransport(pod: Json): Json {
  const { spec } = templateParts(pod);
  return {
    ...pod,
    spec: {
      ...spec,
      containers: list(spec['containers']).map((one) => (one['name'] === CONTAINERS.trainer ? withSockets(one) : one)),
    },
  };
}

function withSockets(trainer: Json): Json {
  const others = list(trainer['env']).filter(({ name }) => !(typeof name === 'string' && Object.hasOwn(SOCKETS, name)));
  return { ...trainer, env: [...others, ...Object.entries(SOCKETS).map(([name, value]) => ({ name, value }))] };
}
