import type { Incident } from '@coxswain/api-types';

/** Kinds in which the whole gang is stalled. Within a run they are one incident, whichever rank is blamed. */
export const STANDS_STILL: readonly Incident['kind'][] = ['Hang', 'NetworkHang', 'Desync', 'NotTraining'];
