/** A condition in SQL on rows of `jobs`: the row is only a record, because its resource was deleted or was never created. */
export const IS_GONE = "(deleted_at IS NOT NULL OR (state = 'Refused' AND uid IS NULL))";
