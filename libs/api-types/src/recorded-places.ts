/** The facts of nodes that a Placement keeps from the time of placement. In an annotation, because the gang does not depend on them. */
import { z } from 'zod';

const text = z.string().max(512);

/** NVLink domain, island, class of NICs; null for a domain that is the node's own, and for a class that is not known. */
const RecordedPlace = z.tuple([text.nullable(), text, text.nullable()]);
/** Network position of a node at the time of placement. */
export type RecordedPlace = z.infer<typeof RecordedPlace>;

/** `of`: which of the places each node of the placement has, by its index; -1: the node was not known. */
export const RecordedPlaces = z.object({ places: z.array(RecordedPlace).max(4_096), of: z.array(z.int().min(-1)) });
