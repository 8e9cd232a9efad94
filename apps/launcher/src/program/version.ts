/** Version of the launcher, as `version` prints it and `hello` tells it. */
export const LAUNCHER_VERSION = '0.1.0';
