/** How many units can one switch of each level take, and at which levels is there but one for all of them? */
import { type SwitchNode, type SwitchTree, TREE_LEVELS } from './switch-tree.ts';

/** Room of the switches of one level, in units. */
export interface LevelRoom {
  /** Units of the roomiest switch; 0 where no switch of the level has room. */
  readonly largest: number;
  /** Those that have room. */
  readonly switches: number;
  /** All units are below the same switch, wherever they lie: nothing can cross between switches of this level. */
  readonly holdsAll: boolean;
}

/** By index into TREE_LEVELS. */
export function levelRooms({ root }: SwitchTree): readonly LevelRoom[] {
  const largest = TREE_LEVELS.map(() => 0);
  const switches = TREE_LEVELS.map(() => 0);
  const visit = ({ level, room, bin, children }: SwitchNode): void => {
    // A bin of domains that hold one unit each is no domain.
    if (level < largest.length && room > 0 && bin?.level !== 1) {
      largest[level] = Math.max(largest[level] ?? 0, room);
      switches[level] = (switches[level] ?? 0) + 1;
    }
    children.forEach(visit);
  };
  visit(root);
  return largest.map((room, level) => ({
    largest: room,
    switches: switches[level] ?? 0,
    holdsAll: room > 0 && room === root.room,
  }));
}

/** The most of `units` that any switch takes beside others of its level: tables of what a switch keeps end there. */
export function mostBesideOthers(rooms: readonly LevelRoom[], units: number): number {
  const beside = rooms.filter(({ holdsAll }) => !holdsAll).map(({ largest }) => largest);
  return Math.min(units, Math.max(1, ...beside));
}
