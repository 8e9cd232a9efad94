/** Version of the launcher, in `version` and in the `hello` message. */
export const LAUNCHER_VERSION = '0.1.0';
