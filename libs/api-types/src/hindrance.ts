/** The beginning of the sentence on a write that the API server denies. It is the last sentence of a job's summary. */
export const HINDRANCE_BEGINS = 'The cluster does not let Coxswain';
