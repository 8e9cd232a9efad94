/**
 * How do ranks whose nodes are in several islands of the network reach each other? All over TCP: NCCL chooses its network process by process, and nothing
 * in it notices that two chose differently before they hang. The choice of its own name counts before plugins are asked (`NCCL_NET`), the other
 * keeps whoever reads that alone from InfiniBand and RoCE. Source: NCCL's user guide, environment variables.
 */
import { CONTAINERS } from '@coxswain/api-types';
import { type Json, list } from './json.ts';
import { partsOf } from './template-parts.ts';

/** Set equally in every pod; whatever a runtime says of them, for nodes of one class or all, is left out. */
const SOCKETS: Readonly<Record<string, string>> = { NCCL_NET: 'Socket', NCCL_IB_DISABLE: '1' };

/** The pod whose ranks use sockets alone. */
export function overSockets(pod: Json): Json {
  const { spec } = partsOf(pod);
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
