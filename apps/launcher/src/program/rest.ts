/** Waits for SIGTERM or SIGINT. */
export async function waitForSignal(): Promise<void> {
  // A process that only waits for a signal has nothing that keeps Node running.
  const alive = setInterval(() => undefined, 2 ** 30);
  await new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
    process.stdout.write('[launcher] idle until SIGTERM or SIGINT\n');
  });
  clearInterval(alive);
}
