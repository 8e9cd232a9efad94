/** The folders of each package that has several, top first, by the package's folder. */
export const FOLDER_ORDER: Readonly<Record<string, readonly string[]>>;
