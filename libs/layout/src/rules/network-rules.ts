import { brokenIf, type OptionRule } from './option-rule.ts';
import { spanningAxes } from './island-borders.ts';

/** Rules about machines and networks. */
export const networkRules: readonly OptionRule[] = [
  {
    name: 'groupsAcrossIslandsUseSockets',
    source: 'Holmes',
    statement: 'groups that span islands of different networks use sockets',
    check: (layout, facts) =>
      spanningAxes(layout, facts).flatMap((axis) => {
        const network = layout.communication?.groupNetwork?.[axis];
        return brokenIf(
          network !== undefined && network !== 'socket',
          `communication/groupNetwork/${axis}`,
          () =>
            `communication.groupNetwork.${axis} is ${String(network)}, but ${axis} groups span islands of different networks; use socket`,
        );
      }),
  },
];
